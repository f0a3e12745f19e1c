import Base
import Crypto
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// No queue of a protocol stops at an account whose rows cannot change. That account's work waits, is noted, and is done
/// once it is possible.
@Suite struct PoisonedQueueTests {
  /// A queue by the name under which its failing items are noted.
  enum Queue: String, CaseIterable, Sendable {
    case documents, logs, recovery, links, mailboxes
    case blobs = "document_blobs"
    case releases = "document_releases"

    /// The table with the rows that its work deletes, or of recoveries updates.
    var table: String {
      switch self {
      case .documents: "document_versions"
      case .blobs: "document_blobs"
      case .releases: "document_releases"
      case .logs: "log_epochs"
      case .recovery: "recoveries"
      case .links: "public_links"
      case .mailboxes: "mailbox_messages"
      }
    }

    /// The column of the account to which a row belongs.
    var owner: String {
      switch self {
      case .documents, .recovery: "account_id"
      case .blobs, .releases, .logs, .links: "owner_id"
      case .mailboxes: "sender_id"
      }
    }

    /// Makes one row for the account, whose time comes within ninety days. Returns the item's id: of logs the epoch's,
    /// of all others the account's.
    func fill(for device: TestDevice, on server: TestServer) throws -> Identifier {
      let document = Random.identifier()
      switch self {
      case .documents:
        try device.push(device.version(document, 1, nil)).requireSuccess()
      case .blobs:
        try device.putBlob([1]).answer.requireSuccess()
      case .releases:
        let (blob, _) = try device.putBlob([1])
        try device.push(device.version(document, 1, naming: [blob])).requireSuccess()
        try device.push(device.version(document, 2, covering: [device.publicKey: 1], nil))
          .requireSuccess()
      case .logs:
        let log = try device.createLog()
        try device.remove(log.path).requireSuccess()
        return log.epoch
      case .recovery:
        let recovery = server.device()
        try device.putBackup([1]).requireSuccess()
        try device.name(recovery.key, delayDays: 1).requireSuccess()
        try recovery.recover(device.account).requireMade()
      case .links:
        _ = try device.published([1], "?expires=\(server.clock.now.seconds + 100)")
      case .mailboxes:
        try device.mail(to: [device.publicKey]).requireSuccess()
        try device.acknowledgeAll()
      }
      return try device.account
    }
  }

  private func rowCount(
    _ queue: Queue, of account: Identifier, on server: TestServer
  ) throws -> Int64 {
    let condition = queue == .recovery ? "look_ms IS NOT NULL AND " : ""
    return try server.database.read { reader in
      try reader.first(
        "SELECT count(*) FROM sync.\(queue.table) WHERE \(condition)\(queue.owner) = $1",
        .id(account)
      ) { try $0.integer(0) } ?? -1
    }
  }

  private func work(_ server: TestServer) throws {
    try server.sweeper().sweep()
    try server.sweepDeletions()
  }

  @Test(arguments: Queue.allCases, TestEngine.available)
  func `an account's work that fails waits and is noted, and others' is done`(
    queue: Queue, engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    // A queue takes first what was due first, or the lower account.
    let devices = try (0..<2).map { _ in try server.register() }
      .sorted { try $0.account < $1.account }
    let accounts = try devices.map { try $0.account }
    var items: [Identifier] = []
    for device in devices {
      items.append(try queue.fill(for: device, on: server))
      server.clock.advance(.seconds(1))
    }
    func left() throws -> [Int64] { try accounts.map { try rowCount(queue, of: $0, on: server) } }
    try #require(try left() == [1, 1])
    try server.poison(queue, of: accounts[0], on: engine)
    server.clock.advance(.days(90))
    for count in Int64(1)...2 {
      try work(server)
      #expect(try left() == [1, 0])
      #expect(
        try server.failingItems(of: accounts[0]) == ["\(queue.rawValue) \(items[0]): \(count)"])
      #expect(try server.failingItems().count == 1)
      // Twice as long the second time.
      server.clock.advance(.seconds(count))
    }
    try server.cure(queue, on: engine)
    try work(server)
    #expect(try left() == [0, 0])
    #expect(try server.failingItems() == [])
  }
}

extension TestServer {
  /// Lets no row of an account change as a queue's work changes it.
  fileprivate func poison(
    _ queue: PoisonedQueueTests.Queue, of account: Identifier, on engine: TestEngine
  ) throws {
    let act = queue == .recovery ? "UPDATE" : "DELETE"
    let id = Hex.encode(account.bytes)
    guard engine == .postgres else {
      return try change(
        """
        CREATE TRIGGER sync.poison BEFORE \(act) ON \(queue.table) WHEN OLD.\(queue.owner) = X'\(id)'
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END
        """)
    }
    try change(
      """
      CREATE FUNCTION sync.poison() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION USING ERRCODE = ''check_violation''; END'
      """)
    try change(
      """
      CREATE TRIGGER poison BEFORE \(act) ON sync.\(queue.table) FOR EACH ROW
      WHEN (OLD.\(queue.owner) = '\\x\(id)') EXECUTE FUNCTION sync.poison()
      """)
  }

  fileprivate func cure(_ queue: PoisonedQueueTests.Queue, on engine: TestEngine) throws {
    try change(
      engine == .postgres
        ? "DROP TRIGGER poison ON sync.\(queue.table)" : "DROP TRIGGER sync.poison")
  }
}
