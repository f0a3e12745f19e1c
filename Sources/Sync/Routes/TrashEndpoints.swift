internal import Accounts
internal import Base
internal import Endpoints
internal import HTTPMessages
internal import JSON
internal import Requests
internal import Storage
internal import Tiers

/// `GET /v1/trash?before=<number>&limit=<n>`: the deleted files that are kept for the caller, latest first.
struct GetTrash: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/trash"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let account = try Caller(reader, request.credentials, now: now).account
    let page = try NewestFirst(request.head.query)
    let plan = try Cap(reader, account, catalogue: host.catalogue, now: now)
      .limits(host.catalogue)
    let entries = try Trash.latest(
      reader, of: account, below: page.before, limit: page.limit + 1)
    let shown = try entries.prefix(page.limit).map { entry in
      (entry, try FileRecord.find(reader, entry.root))
    }
    return [
      "trash": .array(shown.map { $0.json(file: $1, plan) }),
      "next": entries.count > page.limit
        ? shown.last.map { .integer($0.0.sequence) } ?? .null : .null,
    ]
  }
}

extension Trash {
  fileprivate func json(file: FileRecord?, _ plan: Plan.Limits) -> JSONValue {
    [
      "file": file?.json(shares: []) ?? .null, "state": .string(state.rawValue),
      "deleted": .string(deleted.description), "deleted_by": .base64(deletedBy),
      "until": .string(end(under: plan).description), "bytes": .integer(byteCount),
      "records": .integer(recordCount),
    ]
  }
}

/// `POST /v1/trash/{id}/restore`: brings a deleted file back, with everything that was deleted with it. Takes no body.
/// `DELETE /v1/trash/{id}`: deletes it for good.
struct ChangeTrash: SyncWrite {
  enum Change {
    case restore, purge
  }

  let host: ProtocolHost
  let change: Change
  let bodyByteCountMax = 0

  var method: String { change == .restore ? "POST" : "DELETE" }
  var pattern: String { change == .restore ? "/v1/trash/{id}/restore" : "/v1/trash/{id}" }

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    guard let root = Identifier(request.captures[0]) else { throw Refusal.trashNotFound }
    return root
  }

  func write(
    _ root: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      switch change {
      case .restore:
        try locked.owners.requireWritable([account], by: locked.caller, transaction)
        try TrashRequests.restore(
          transaction, root, of: account, fee: host.catalogue.metadataFeeByteCount, now: now)
      case .purge: try TrashRequests.purge(transaction, root, of: account)
      }
      return Outcome(status: 204, body: [])
    }
  }
}
