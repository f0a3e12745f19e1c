import Base
import Crypto
import Objects
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// What an operator learns of the protocols without a look into their tables. Other tests count at the same time, so a
/// counter may have grown by more than a test did.
@Suite struct CounterTests {
  private static func total(_ instrument: String) throws -> Int {
    let line = try #require(
      Metrics.shared.render().split(separator: "\n").first { $0.hasPrefix("\(instrument) ") },
      "\(instrument)")
    return try #require(line.split(separator: " ").last.flatMap { Int($0) })
  }

  @Test(arguments: TestEngine.available)
  func `messages of a log are counted by the protocol of their client`(engine: TestEngine) throws {
    let server = try TestServer(engine, actualAuthorities: [ActualClient.host])
    let device = try server.register()
    let (native, actual) = (
      "coffer_log_messages_total{protocol=\"logs\"}",
      "coffer_log_messages_total{protocol=\"actual\"}"
    )
    let before = (native: try Self.total(native), actual: try Self.total(actual))
    let log = try device.createLog()
    let messages = [SentMessage(server.stamp()), SentMessage(server.stamp(counter: 1))]
    #expect(try device.append(messages, to: log).status == 200)
    #expect(try Self.total(native) >= before.native + 2)
    let client = try ActualClient(server, of: device)
    let file = Random.identifier().description
    let group = try client.create(file)
    #expect(try client.sync(file, group: group, messages).status == 200)
    #expect(try Self.total(actual) >= before.actual + 2)
  }

  @Test(arguments: TestEngine.available)
  func `versions of documents are counted, and those refused by the rule that they broke`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    let (stored, refused) = (
      "coffer_document_versions_total",
      "coffer_document_versions_refused_total{rule=\"own_version_uncovered\"}"
    )
    let before = (stored: try Self.total(stored), refused: try Self.total(refused))
    let document = Random.identifier()
    #expect(try device.push(device.version(document, 5)).status == 200)
    #expect(try Self.total(stored) > before.stored)
    #expect(try device.push(device.version(document, 6)).status == 422)
    #expect(try Self.total(refused) > before.refused)
  }

  @Test func `contents that the object store has lost are counted`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    _ = try device.write(id, Random.bytes(20_000))
    let missing = "coffer_contents_missing_total"
    let before = try Self.total(missing)
    let objects = try server.database.read { reader in
      try reader.rows("SELECT object_id FROM sync.files WHERE object_id IS NOT NULL") { row in
        try row.id(0)
      }
    }
    for object in objects { try server.objects.delete(object) }
    #expect(try device.get("/v1/files/\(id)/content").problem == "content_unavailable")
    #expect(try Self.total(missing) > before)
  }

  @Test(arguments: TestEngine.available)
  func `blocks of a chain are counted, and forks that were lost`(engine: TestEngine) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(4)
    let (a, b, c, d) = (devices[0], devices[1], devices[2], devices[3])
    let (blocks, forks) = ("coffer_chain_blocks_total", "coffer_chain_forks_lost_total")
    let before = (blocks: try Self.total(blocks), forks: try Self.total(forks))
    let head = try a.chain(with: [b])
    #expect(try a.commit(MadeCommit(a.block(after: head, adding: [c]))).status == 200)
    #expect(try Self.total(blocks) >= before.blocks + 2)
    #expect(try b.send(b.block(after: head, adding: [d])).status == 409)
    #expect(try b.commit(MadeCommit(b.block(after: head, adding: [d]))).status == 409)
    #expect(try Self.total(forks) >= before.forks + 2)
  }

  @Test(arguments: TestEngine.available)
  func `messages in mailboxes are counted, those of commits too, and those that nobody read`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let devices = try server.devices(3)
    let (a, b, c) = (devices[0], devices[1], devices[2])
    let (stored, expired) = ("coffer_mailbox_messages_total", "coffer_mailbox_expired_total")
    let before = (stored: try Self.total(stored), expired: try Self.total(expired))
    let head = try a.chain(with: [b, c])
    #expect(try a.commit(MadeCommit(a.block(after: head))).status == 200)
    #expect(try Self.total(stored) >= before.stored + 2)
    server.clock.advance(.days(90))
    try server.sweeper().sweep()
    #expect(try Self.total(expired) >= before.expired + 2)
  }

  /// The other tests claim fewer packages all together than this request is repeated.
  @Test(arguments: TestEngine.available)
  func `a key package is counted once, however often its claim is repeated`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let ada = try server.register()
    try ada.offer([ada.keyPackage(1)]).requireSuccess()
    let (claimed, repeatCount) = ("coffer_key_packages_claimed_total", 500)
    let before = try Self.total(claimed)
    let claim = ada.sign(
      "POST", "/v1/devices/\(Base64.url.encode(ada.publicKey))/key-packages/claim")
    for _ in 0...repeatCount { try ada.send(claim).requireSuccess() }
    let counted = try Self.total(claimed) - before
    #expect(1..<repeatCount ~= counted)
  }
}
