import Accounts
import Base
import Endpoints
import HTTPMessages
import Objects
import Requests
import Storage

/// A document's content that is reserved, streamed to an object and committed; see `PutContent`.
struct PutLargeContent: ContentPut {
  let host: ProtocolHost
  let uploads: UploadsUnderWay<ContentUpload.Attempt>

  func id(_ request: AccountRequest) throws -> Identifier { try request.identifier(0) }

  func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, isLast: Bool
  ) throws -> ContentUpload.Reception? {
    let now = host.clock.now()
    let locked = try LockedDocument(transaction, asked.write, now: now)
    let reception = try Reservations.reception(
      transaction, asked, of: locked.caller, isLast: isLast, isMoving: isMoving)
    if case .receive = reception {
      try Reservations.reserve(
        transaction, locked, asked.write, asked.attempt.object, byteCount: asked.byteCount,
        instance: host.objects.instance, until: now + Reservations.lifetime,
        catalogue: host.catalogue, now: now)
    }
    return reception
  }

  func transact(
    _ transaction: Transaction, _ reception: ContentUpload.Reception
  ) throws -> Contents.Replaced {
    switch reception {
    case .receive(let asked, _):
      try Contents.replace(
        transaction, asked.write,
        with: .object(asked.attempt.object, byteCount: asked.byteCount),
        catalogue: host.catalogue, now: host.clock.now())
    case .repeated(_, let outcome):
      Contents.Replaced(outcome: outcome, owner: nil, byteCount: 0)
    }
  }

  func release(_ transaction: Transaction, _ reception: ContentUpload.Reception) throws {
    guard case .receive(let asked, _) = reception else { return }
    try Reservations.abandon(
      transaction, asked.attempt.object, of: asked.write.id, byteCount: asked.byteCount)
  }

  func respond(_ replaced: Contents.Replaced) -> Response { host.count(replaced).response }
}
