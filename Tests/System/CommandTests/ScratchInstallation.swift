import Base
import Storage
import TestEngines
import TestFiles

/// A directory for a database that does not exist yet, and settings for commands to use it at a fixed time.
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
  /// The location as COFFER_DATABASE names it.
  var setting: String {
    switch location {
    case .sqlite(let directory): "sqlite://\(directory)"
    case .postgres(let url): String(decoding: url.exposed, as: UTF8.self)
    }
  }
}
