import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Objects
import Requests
import Storage

/// Content that is reserved, streamed to an object and committed; see `PutContent`.
struct PutLargeContent: Upload {
  let host: ProtocolHost
  let uploads: UploadsUnderWay<ContentUpload.Attempt>

  /// The longest content that one request may carry.
  static let requestByteCountMax: Int64 = 1 << 30

  var byteCountMax: Int64 { min(Self.requestByteCountMax, host.limits.contentByteCountMax) }

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> ContentUpload.Asked {
    let request = try AccountRequest(head, captures, host.gate)
    return ContentUpload.Asked(
      write: try Contents.Write(request), byteCount: head.contentLength ?? 0,
      attempt: ContentUpload.Attempt(digest: request.digest, uploads))
  }

  func inquire(_ asked: ContentUpload.Asked) -> Inquiry? {
    host.gate.inquiry(asked.write.credentials)
  }

  func lane(_ asked: ContentUpload.Asked) -> Identifier? { asked.write.credentials.lane }

  func reserve(
    _ transaction: Transaction, _ asked: ContentUpload.Asked, isLast: Bool
  ) throws -> ContentUpload.Reception? {
    try Reservations.reserve(
      transaction, asked, catalogue: host.catalogue, isLast: isLast, isMoving: isMoving,
      instance: host.objects.instance, now: host.clock.now())
  }

  /// Whether an upload makes progress. Of another process's upload it is only known whether that
  /// process runs.
  private func isMoving(_ object: Identifier, _ instance: Identifier?) -> Bool {
    guard let instance, instance != host.objects.instance else {
      return uploads.attempt(object)?.isMoving ?? false
    }
    return host.objects.isRunning(instance)
  }

  func receive(_ reception: ContentUpload.Reception) throws -> ContentUpload.Attempt {
    let attempt = reception.asked.attempt
    switch reception {
    case .receive(_, let superseded):
      if let superseded { uploads.attempt(superseded)?.supersede() }
      try attempt.open(in: host.objects)
    case .repeated: attempt.drop()
    }
    return attempt
  }

  func settle(_ reception: ContentUpload.Reception, _ attempt: ContentUpload.Attempt) throws {
    if case .receive(let asked, _) = reception {
      asked.write.credentials.meter.charge(Price.content(asked.byteCount), for: .content)
    }
    try attempt.settle()
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
      transaction, asked.attempt.object, of: asked.write.file, byteCount: asked.byteCount)
  }

  func respond(_ replaced: Contents.Replaced) -> Response { host.count(replaced).response }
}
