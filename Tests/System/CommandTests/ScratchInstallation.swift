import Base
import Storage
import TestEngines
import TestFiles

/// A place for a database that nothing is in yet, and settings by which commands use it at a time that stands
/// still.
struct ScratchInstallation {
  let scratch: ScratchDirectory
  let environment: [String: String]

  init(at now: Instant) throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_MODE": "test", "COFFER_TEST_CLOCK": scratch.path + "/clock",
    ]
    try Files.write("\(now.milliseconds)\n", to: scratch.path + "/clock")
  }
}

extension ScratchDatabase {
  /// As COFFER_DATABASE names it.
  var setting: String {
    switch location {
    case .sqlite(let directory): "sqlite://\(directory)"
    case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
    }
  }
}
