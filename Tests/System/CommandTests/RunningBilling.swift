import Base
import LocalServer
import RecordedStories
import TestEngines
import TestFiles

/// A running coffer-billing with its own database, under a clock that its test sets.
struct RunningBilling {
  let scratch: ScratchDirectory
  let environment: [String: String]
  let program: Running
  let port: UInt16

  /// `settings` add to those that every test needs, or replace them.
  init(at start: Instant, adding settings: [String: String] = [:]) throws {
    scratch = try ScratchDirectory()
    port = Ports.free()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_PLANS": RecordedStory.cataloguePath,
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_test",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ].merging(settings) { $1 }
    try scratch.setClock(start)
    program = try Running("coffer-billing", environment: environment, port: port)
  }
}

extension ScratchDirectory {
  /// Sets the time of programs whose `COFFER_TEST_CLOCK` is the directory's file `clock`.
  func setClock(_ moment: Instant) throws {
    try Files.write("\(moment.milliseconds)\n", to: path + "/clock")
  }
}
