internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import Storage

/// Whose invitations an account takes none of.
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
