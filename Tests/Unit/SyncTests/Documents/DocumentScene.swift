import TestDevices
import TestEngines

/// Ada and Bob, who know each other by a log that Bob accepted.
struct DocumentScene {
  let server: TestServer
  let ada: TestDevice
  let bob: TestDevice
  let log: KnownLog

  init(
    _ engine: TestEngine = .sqlite, keepingFor days: Int64? = nil, cap: Int64 = 1_000_000
  ) throws {
    server = try TestServer(engine, keepingFor: days, cap: cap)
    (ada, bob) = (try server.register(), try server.register())
    log = try ada.createLog()
    try ada.shareLog(log, with: bob)
  }

  /// Everything that a refused push could have changed.
  func state() throws -> String {
    let counts = try [
      "document_versions", "document_texts", "document_devices", "document_releases",
    ].map { try server.count($0) }
    return try "\(server.state())\n\(counts)\n\(ada.pull().versions)\n\(bob.pull().versions)"
  }

  /// Records an issue unless both accounts' totals and usage are what their rows add up to.
  func requireRight() throws {
    for device in [ada, bob] { try server.requireDocuments(device) }
  }
}
