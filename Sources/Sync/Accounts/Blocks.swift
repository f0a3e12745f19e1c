internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import JSON
internal import Storage

/// Whose invitations an account takes none of.
///
/// A block holds for what is granted from then on. What was accepted before stays: the account leaves
/// that by deleting its links; what waits for an answer it rejects.
enum Blocks {
  static let countMax = 1000

  static func has(
    _ queryable: some Queryable, _ account: Identifier, _ blocked: Identifier
  ) throws -> Bool {
    try queryable.first(
      "SELECT since_ms FROM sync.blocks WHERE account_id = $1 AND blocked_id = $2",
      .id(account), .id(blocked)
    ) { row in try row.instant(0) } != nil
  }

  /// Takes a number of the account's sequence, so that no invitation is taken that was judged before.
  static func add(
    _ transaction: Transaction, _ blocked: Identifier, to account: Identifier,
    _ owners: LockedOwners, now: Instant
  ) throws {
    guard try Account.find(transaction, blocked) != nil else { throw Refusal.accountNotFound }
    guard try !has(transaction, account, blocked) else { return }
    guard try ids(transaction, account).count < countMax else {
      throw Refusal.tooManyBlocks(max: countMax)
    }
    try transaction.execute(
      "INSERT INTO sync.blocks (account_id, blocked_id, since_ms) VALUES ($1, $2, $3)",
      .id(account), .id(blocked), .instant(now))
    var owners = owners
    _ = try owners.nextSequence(of: account)
    try owners.save(transaction, now: now)
  }

  static func remove(
    _ transaction: Transaction, _ blocked: Identifier, from account: Identifier
  ) throws {
    try transaction.execute(
      "DELETE FROM sync.blocks WHERE account_id = $1 AND blocked_id = $2",
      .id(account), .id(blocked))
  }

  static func list(_ reader: Reader, of account: Identifier) throws -> JSONValue {
    ["blocks": .array(try ids(reader, account).map { .string($0.description) })]
  }

  private static func ids(
    _ queryable: some Queryable, _ account: Identifier
  ) throws -> [Identifier] {
    try queryable.rows(
      "SELECT blocked_id FROM sync.blocks WHERE account_id = $1 ORDER BY blocked_id LIMIT $2",
      .id(account), .integer(Int64(countMax))
    ) { row in try row.id(0) }
  }
}

extension SyncAPI {
  /// `GET /v1/blocks`: at most 1000 accounts.
  var readBlocks: Route {
    read("/v1/blocks") { reader, request, now in
      let caller = try Caller(reader, request.credentials, now: now)
      return try Blocks.list(reader, of: caller.account)
    } respond: { json, _ in
      .json(200, json)
    }
  }

  /// `PUT /v1/blocks/{account}`: takes no invitation of that account any more. Takes no body.
  var addBlock: Route {
    changeBlock("PUT") { transaction, blocked, locked, now in
      try Blocks.add(transaction, blocked, to: locked.caller.account, locked.owners, now: now)
    }
  }

  /// `DELETE /v1/blocks/{account}`: takes its invitations again.
  var removeBlock: Route {
    changeBlock("DELETE") { transaction, blocked, locked, _ in
      try Blocks.remove(transaction, blocked, from: locked.caller.account)
    }
  }

  private func changeBlock(
    _ method: String,
    _ change:
      @escaping @Sendable (
        Transaction, _ blocked: Identifier, _ locked: LockedCaller, Instant
      ) throws -> Void
  ) -> Route {
    write(method, "/v1/blocks/{account}", bodyByteCountMax: 0) { request, _ in
      guard let blocked = Identifier(request.captures[0]) else { throw Refusal.accountNotFound }
      return blocked
    } transact: { transaction, request, blocked, now in
      let locked = try LockedCaller(transaction, request.credentials, now: now)
      return try Nonces.once(transaction, request.credentials) {
        try change(transaction, blocked, locked, now)
        return Outcome(status: 204, body: [])
      }
    }.route(on: database)
  }
}
