import Base
import LocalServer
import RecordedStories
import TestEngines
import TestFiles

/// What ten of Stripe's stories left, told to one coffer-billing in the order of their times.
struct SeptemberShop {
  private static let names = [
    "renewal", "addition-bought-together", "trial-then-paid", "failed-payment-grace-recovery",
    "refund-of-the-current-period", "dispute-lost", "upgrade-to-year", "resubscribe",
    "plan-by-year-and-addition-by-month", "failed-payment-lapse",
  ]

  static let stories = RecordedStory.all.filter { story in
    names.contains { story.name == "stripe/2026-07-29.dahlia/\($0)" }
  }

  let scratch: ScratchDirectory
  let environment: [String: String]
  private let billing: Running

  init() throws {
    scratch = try ScratchDirectory()
    let port = Ports.free()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_BILLING_LISTEN": "127.0.0.1:\(port)",
      "COFFER_METRICS_LISTEN": "127.0.0.1:\(Ports.free())",
      "COFFER_PLANS": RecordedStory.cataloguePath,
      "COFFER_SEALING_KEYS": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
      "COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_test",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    let steps = Self.stories.flatMap { story in
      story.steps.compactMap { step in
        step.delivery.map { (at: step.at, path: "\(story.name)/\($0.name)") }
      }
    }.sorted { ($0.at, $0.path) < ($1.at, $1.path) }
    try Files.write("1785542400000\n", to: scratch.path + "/clock")
    billing = try Running("coffer-billing", environment: environment, port: port)
    _ = try coffer("migrate")
    for (index, story) in Self.stories.prefix(2).enumerated() {
      _ = try coffer(
        "account", "create", "--id", story.account.description, "--username", "user\(index)",
        "--key-file", "\(scratch.path)/\(index).key")
    }
    for step in steps {
      try setClock(step.at)
      _ = try coffer("webhook", "send", "\(RecordedStory.folder)/\(step.path)")
    }
    try setClock(Instant(rfc3339: "2026-11-15T08:30:00Z")!)
  }

  func setClock(_ moment: Instant) throws {
    try Files.write("\(moment.milliseconds)\n", to: scratch.path + "/clock")
  }

  func coffer(_ words: String...) throws -> Finished {
    try Finished(words, environment: environment)
  }
}
