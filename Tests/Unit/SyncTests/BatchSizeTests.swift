import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// Batches and trees at their limits, and one beyond.
@Suite struct BatchSizeTests {
  // MARK: One batch

  @Test(arguments: TestEngine.available)
  func `a batch of 500 changes is taken, one of 501 is not`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let before = try server.state()
    let changes = try (0..<501).map { _ in try device.creation() }
    let refused = try device.batch(files: changes)
    #expect(refused.status == 400)
    #expect(try refused.problem == "batch_too_large")
    #expect(try server.state() == before)
    #expect(try device.batch(files: Array(changes.dropLast())).status == 200)
  }

  @Test func `files and shares count together`() throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let changes = try (0..<499).map { _ in try alice.creation() }
    let grants = try changes.prefix(2).map { change in
      ShareChange.grant(change.file.id, to: try bob.account)
    }
    #expect(try alice.batch(files: changes, shares: grants).problem == "batch_too_large")
    #expect(try alice.batch(files: changes, shares: [grants[0]]).status == 200)
  }

  @Test func `the longest names and keys fit 500 times`() throws {
    let server = try TestServer()
    let device = try server.register()
    let changes = try (0..<500).map { _ in
      var change = try device.creation()
      change.file.name.ciphertext = Random.bytes(512)
      change.file.key = Random.bytes(256)
      return change
    }
    #expect(try device.batch(files: changes).status == 200)
  }

  @Test func `a body of 1 MiB is read, one byte more is not`() throws {
    let server = try TestServer()
    let device = try server.register()
    let before = try server.state()
    let body = device.batchBody(files: [try device.creation()]).encoded()
    func padded(_ count: Int) -> [UInt8] {
      body + [UInt8](repeating: UInt8(ascii: " "), count: count - body.count)
    }
    let refused = try device.send(
      device.sign("POST", "/v1/files", body: padded((1 << 20) + 1)))
    #expect(refused.status == 413)
    #expect(try server.state() == before)
    let taken = try device.send(device.sign("POST", "/v1/files", body: padded(1 << 20)))
    #expect(taken.status == 200)
  }

  @Test(arguments: [
    ("ciphertext", 0, false), ("ciphertext", 1, true), ("ciphertext", 512, true),
    ("ciphertext", 513, false), ("hmac", 0, false), ("hmac", 31, false), ("hmac", 32, true),
    ("hmac", 33, false), ("key", 0, false), ("key", 1, true), ("key", 256, true),
    ("key", 257, false),
  ])
  func `names, their hashes and keys are as long as they may be`(
    field: String, byteCount: Int, isTaken: Bool
  ) throws {
    let server = try TestServer()
    let device = try server.register()
    var change = try device.creation()
    switch field {
    case "ciphertext": change.file.name.ciphertext = Random.bytes(byteCount)
    case "hmac": change.file.name.hmac = Random.bytes(byteCount)
    default: change.file.key = Random.bytes(byteCount)
    }
    let answer = try device.batch(files: [change])
    #expect(answer.status == (isTaken ? 200 : 400))
    if !isTaken {
      let place = field == "key" ? "key" : "name.\(field)"
      #expect(try answer.json["path"].string == "$.files[0].file.\(place)")
    }
  }

  @Test(arguments: [(0, false), (1, true), (256, true), (257, false)])
  func `a share's key is as long as it may be`(byteCount: Int, isTaken: Bool) throws {
    let server = try TestServer()
    let (alice, bob) = (try server.register(), try server.register())
    let grant = ShareChange.grant(
      try alice.add(), to: try bob.account, key: Random.bytes(byteCount))
    let answer = try alice.batch(shares: [grant])
    #expect(answer.status == (isTaken ? 200 : 400))
    if !isTaken { #expect(try answer.json["path"].string == "$.shares[0].share.key") }
  }

  // MARK: Depth

  @Test(arguments: TestEngine.mainly(.sqlite))
  func `ten thousand levels end at the 128th, in one batch and in many`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let before = try server.state()
    let changes = try device.chain(500)
    let refused = try device.batch(files: changes)
    #expect(try refused.rules == ["too_deep"])
    #expect(
      try Set(refused.failures.map(\.file))
        == Set(changes.dropFirst(128).map(\.file.id.description)))
    #expect(try server.state() == before)
    let bottom = try device.addChain(128)[127]
    #expect(try device.create(parent: bottom).answer.rules == ["too_deep"])
    let full = try server.state()
    var parent = bottom
    for _ in 0..<20 {
      let deeper = try device.chain(500, in: parent)
      let answer = try device.batch(files: deeper)
      #expect(try answer.failures.count == 500)
      parent = deeper[499].file.id
    }
    #expect(try server.state() == full)
  }

  @Test(arguments: TestEngine.available)
  func `a folder moves only as deep as what is in it allows`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (above, below) = (try device.addChain(65), try device.addChain(64))
    #expect(try device.move(below[0], to: above[64]).rules == ["too_deep"])
    #expect(try device.move(below[0], to: above[63]).status == 200)
    #expect(try device.create(parent: below[63]).answer.rules == ["too_deep"])
  }

  @Test(arguments: TestEngine.available)
  func `what was once deep moves again when it is no longer`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (above, below) = (try device.addChain(65), try device.addChain(64))
    try device.move(below[10], to: device.root).requireSuccess()
    #expect(try device.move(below[0], to: above[64]).status == 200)
    try device.delete(below[20]).requireSuccess()
    #expect(try device.move(below[10], to: above[64]).status == 200)
  }

  @Test(arguments: TestEngine.available)
  func `what is deleted counts for no level, so a folder takes it deeper than any file may be`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (above, below) = (try device.addChain(100), try device.addChain(64))
    try device.delete(below[1]).requireSuccess()
    try server.sweeper().sweep()
    #expect(try device.move(below[0], to: above[99]).status == 200)
    #expect(try FileTrees.faults(of: device.account, in: server.database).isEmpty)
  }

  // MARK: Width

  @Test(arguments: TestEngine.mainly(.postgres))
  func `beside 100,000 siblings there is room for another, and all are told in pages`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine, freeByteCount: 1_000_000_000)
    let device = try server.register()
    try server.fill(device, count: 100_000)
    _ = try device.add()
    var (cursor, count, pages, isMore) = (String?.none, 0, 0, true)
    while isMore {
      let page = try device.updates(since: cursor, limit: 1000)
      try page.requireSuccess()
      let json = try page.json
      cursor = json["cursor"].string
      count += json["changes"].array?.count ?? 0
      isMore = json["more"].bool ?? false
      pages += 1
    }
    #expect(count == 100_000 + 2)
    #expect(pages == 101)
  }
}

extension TestServer {
  /// Writes documents into an account's root without the API.
  func fill(_ device: TestDevice, count: Int) throws {
    let (account, root) = (try device.account, device.root)
    let perStatement = 250
    let rows = (0..<perStatement).map { row in
      let (id, name, number) = (3 + 3 * row, 4 + 3 * row, 5 + 3 * row)
      return "($\(id), $1, $2, 'document', $\(name), $\(name), $\(name), 0, $\(number), 0, 0, 0)"
    }
    let sql = """
      INSERT INTO sync.files
        (id, owner_id, parent_id, kind, name, name_hmac, file_key, height, seq,
         content_version, content_bytes, deleted)
      VALUES \(rows.joined(separator: ", "))
      """
    try database.write(for: account) { transaction in
      var number =
        try transaction.first("SELECT seq FROM sync.accounts WHERE id = $1", .id(account)) { row in
          try row.integer(0)
        } ?? 0
      for _ in 0..<(count / perStatement) {
        var values: [SQLValue] = [.id(account), .id(root)]
        for _ in 0..<perStatement {
          number += 1
          values += [.id(Random.identifier()), .blob(Random.bytes(32)), .integer(number)]
        }
        try transaction.execute(sql, values: values)
      }
      try transaction.execute(
        """
        UPDATE sync.accounts SET seq = seq + $2, usage_bytes = usage_bytes + $3,
          record_count = record_count + $2 WHERE id = $1
        """, .id(account), .integer(Int64(count)), .integer(Int64(count) * 1000))
    }
  }
}
