import Base
import Crypto
import JSON
import Storage
import TestDevices

extension APIStories {
  /// Every answer about message logs.
  func keepLogs() throws {
    let server = try self.server(freeByteCount: 250_000)
    let device = try server.register()
    let log = try device.createLog()
    _ = try device.postLog(log.id)
    _ = try device.get("/v1/logs")
    for path in [log.path, "/v1/logs/\(Random.identifier())"] {
      for part in ["", "/messages", "/messages?since=\(LogTests.zero)", "/trie", "/trie?path=2"] {
        _ = try device.get(path + part)
      }
    }
    let message = SentMessage(server.stamp())
    for sent in [
      message, SentMessage(message.t, [9]), SentMessage("now"), SentMessage(server.stamp(.days(1))),
    ] {
      _ = try device.append([sent], to: log)
    }
    _ = try device.append([message], to: log, epoch: Random.identifier())
    for query in ["cursor=x", "since=x", "limit=0", "since=\(LogTests.zero)", ""] {
      _ = try device.get("\(log.path)/messages?\(query)")
    }
    _ = try device.get("\(log.path)/trie?path=3")
    try meetBounds(server, device, log)
    try device.suspendAndAppend(server, log)
    for _ in 0..<2 { _ = try device.remove(log.path) }
    try beginEpochs(server, device)
    let cursor = try device.page(of: device.createLog(), "").json["cursor"].string ?? ""
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1", .id(Random.identifier()))
    }
    let last = try device.createLog()
    _ = try device.get("\(last.path)/messages?cursor=\(cursor)")
    _ = try device.putSnapshot([1], of: last, covering: cursor)
  }

  private func beginEpochs(_ server: TestServer, _ device: TestDevice) throws {
    let log = try device.createLog()
    let old = SentMessage(server.stamp())
    _ = try device.append([old], to: log)
    let cursor = try device.page(of: log, "").json["cursor"].string ?? ""
    _ = try device.send(device.epochRequest(of: log, covering: cursor))
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.log_epochs SET message_count = message_count + 5001")
    }
    _ = try device.beginEpoch(of: log, covering: cursor)
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.log_epochs SET message_count = message_count - 5001")
    }
    let epoch = try log.next(device.beginEpoch(of: log, covering: cursor))
    for cursor in [cursor, "x"] {
      _ = try device.send(device.epochRequest(of: log, covering: cursor))
    }
    _ = try device.append([old], to: epoch)
    try storeSnapshots(server, device, epoch)
    let account = try device.account
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        """
        INSERT INTO sync.actual_files (owner_id, file, log_id, name, format)
        VALUES ($1, $2, $3, $4, $5)
        """, .id(account), .text("budget"), .id(log.id), .text("budget"), .integer(2))
    }
    _ = try device.beginEpoch(of: log, covering: cursor)
    _ = try device.send(device.epochRequest(of: log, covering: cursor))
    _ = try device.remove(log.path)
    _ = try device.send(device.epochRequest(of: log, covering: cursor))
  }

  /// Every answer about the snapshot of a log.
  private func storeSnapshots(
    _ server: TestServer, _ device: TestDevice, _ log: KnownLog
  ) throws {
    let cursor = try device.page(of: log, "").json["cursor"].string ?? ""
    for condition in [nil, "none", "\"0\""] {
      _ = try device.putSnapshot([1], of: log, covering: cursor, ifMatch: condition)
    }
    _ = try device.putSnapshot(Random.bytes(300_000), of: log, covering: cursor)
    let stored = try device.putSnapshot(Random.bytes(1000), of: log, covering: cursor)
    let path = "\(log.path)/snapshot"
    _ = try device.get(path)
    for headers in [
      ("Range", "bytes=1-2"), ("Range", "bytes=5000-"), ("If-None-Match", stored.header("ETag")),
      ("If-Match", "\"0\""),
    ] {
      _ = try device.get(path, headers: [(headers.0, headers.1 ?? "")])
    }
    _ = try device.get("\(device.createLog().path)/snapshot")
    try server.suspend(device.account, since: server.clock.now)
    _ = try device.putSnapshot([1], of: log, covering: cursor)
    try server.suspend(device.account, since: nil)
  }

  /// The most logs, the most messages, and the cap.
  private func meetBounds(_ server: TestServer, _ device: TestDevice, _ log: KnownLog) throws {
    let logs = try (1..<200).map { _ in try device.createLog() }
    _ = try device.postLog(Random.identifier())
    for log in logs { _ = try device.remove(log.path) }
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.log_epochs SET message_count = message_count + 1000000")
    }
    _ = try device.append([SentMessage(server.stamp(counter: 1))], to: log)
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.log_epochs SET message_count = message_count - 1000000")
    }
    for counter in 2..<30 {
      let content = [UInt8](repeating: 1, count: 65_000)
      _ = try device.append([SentMessage(server.stamp(counter: counter), content)], to: log)
    }
  }
}

extension TestDevice {
  fileprivate func suspendAndAppend(_ server: TestServer, _ log: KnownLog) throws {
    try server.suspend(account, since: server.clock.now)
    _ = try append([SentMessage(server.stamp(counter: 99))], to: log)
    _ = try postLog(Random.identifier())
    try server.suspend(account, since: nil)
  }
}
