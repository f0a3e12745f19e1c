import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage
import Tiers

/// `GET /v1/trash?before=<number>&limit=<n>`: the deleted files that are kept for the caller, latest first.
struct GetTrash: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/trash"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let account = try Caller(reader, request.credentials, now: now).account
    let page = try NewestFirst(request.head.query)
    let retention = try Retention(reader, account, catalogue: host.catalogue, now: now)
    let entries = try Trash.latest(
      reader, of: account, below: page.before, limit: page.limit + 1)
    let shown = try entries.prefix(page.limit).map { entry in
      (entry, try FileRecord.find(reader, entry.root))
    }
    return [
      "trash": .array(shown.map { $0.json(file: $1, retention) }),
      "next": entries.count > page.limit
        ? shown.last.map { .integer($0.0.sequence) } ?? .null : .null,
    ]
  }
}

extension Trash {
  fileprivate func json(file: FileRecord?, _ retention: Retention) -> JSONValue {
    [
      "file": file?.json(shares: []) ?? .null, "state": .string(state.rawValue),
      "deleted": .string(deleted.description), "deleted_by": .base64(deletedBy),
      "until": .string(end(under: retention).description), "bytes": .integer(byteCount),
      "records": .integer(recordCount), "links": .integer(linkCount),
    ]
  }
}

/// `POST /v1/trash/{id}/restore`: brings a deleted file back whole, elsewhere if an optional body says so.
struct RestoreTrash: SyncWrite {
  let host: ProtocolHost
  let method = "POST"
  let pattern = "/v1/trash/{id}/restore"

  typealias Body = (root: Identifier, placement: Placement?)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    guard let root = Identifier(request.captures[0]) else { throw Refusal.trashNotFound }
    guard !body.isEmpty else { return (root, nil) }
    return (
      root,
      try Placement(JSON.body(body), of: root, counting: host.gate.authenticator.signatures)
    )
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try locked.owners.requireWritable([account], by: locked.caller, transaction)
      if let author = body.placement?.author, author != locked.caller.publicKey {
        throw RequestRefusal.bodyInvalid(
          path: "$.author", rule: "must be the key that makes the request")
      }
      let restored = try TrashRequests.restore(
        transaction, body.root, of: account, as: body.placement,
        fee: host.catalogue.metadataFeeByteCount, now: now)
      return Outcome(
        200,
        [
          "id": .string(body.root.description), "version": .integer(restored.version),
          "links": .integer(restored.linkCount),
        ])
    }
  }
}

/// `DELETE /v1/trash/{id}`: deletes a file in the trash for good.
struct PurgeTrash: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/trash/{id}"
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    guard let root = Identifier(request.captures[0]) else { throw Refusal.trashNotFound }
    return root
  }

  func write(
    _ root: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      try TrashRequests.purge(transaction, root, of: locked.caller.account)
      return Outcome(status: 204, body: [])
    }
  }
}
