import Accounts
import Base
import Endpoints
import HTTPMessages
import JSON
import Requests
import Storage
import Tiers

/// `GET /v1/files/{id}/cap`: how many bytes a folder may hold, and what it holds.
struct GetFolderCap: SyncRead {
  let host: ProtocolHost
  let pattern = FolderCap.pattern

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(request.identifier(0), reader)
    guard !file.isDeleted else { throw Refusal.fileDeleted }
    guard file.kind == .folder else { throw Refusal.notAFolder }
    return FolderCap.json(try FolderCap.find(reader, file.id), of: file.id)
  }
}

/// `PUT /v1/files/{id}/cap`: sets how many bytes a folder of the caller may hold; null removes the cap.
struct PutFolderCap: SyncWrite {
  let host: ProtocolHost
  let method = "PUT"
  let pattern = FolderCap.pattern

  typealias Body = (folder: Identifier, byteCount: Int64?)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Body {
    let json = try JSON.body(body)
    try json.requireMembers(["bytes"])
    let folder = try request.identifier(0)
    if json["bytes"].isNull { return (folder, nil) }
    guard let byteCount = json["bytes"].integer, byteCount >= 0 else {
      throw RequestRefusal.bodyInvalid(
        path: "$.bytes", rule: "must be a number of bytes from 0, or null")
    }
    return (folder, byteCount)
  }

  func write(
    _ body: Body, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Outcome {
    try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let account = locked.caller.account
      try locked.owners.requireWritable([account], by: locked.caller, transaction)
      let cap = try FolderCap.set(
        transaction, body.folder, of: account, byteCount: body.byteCount,
        fee: host.catalogue.metadataFeeByteCount)
      return Outcome(200, FolderCap.json(cap, of: body.folder))
    }
  }
}

extension FolderCap {
  fileprivate static let pattern = "/v1/files/{id}/cap"

  fileprivate static func json(_ cap: FolderCap?, of folder: Identifier) -> JSONValue {
    [
      "id": .string(folder.description), "bytes": cap.map { .integer($0.byteCount) } ?? .null,
      "used": cap?.usedByteCount.map { .integer($0) } ?? .null,
    ]
  }
}
