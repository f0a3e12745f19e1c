package import Base
package import Endpoints
package import HTTPMessages
import Objects
package import Requests

/// A `PUT` of content that is reserved, streamed to an object and committed: the stages that are the same for every
/// protocol.
package protocol ContentPut: Upload
where
  Request == ContentUpload.Asked, Reservation == ContentUpload.Reception,
  Sink == ContentUpload.Attempt
{
  var host: ProtocolHost { get }
  var uploads: UploadsUnderWay<ContentUpload.Attempt> { get }

  /// What the content is of.
  func id(_ request: AccountRequest) throws -> Identifier
}

extension ContentPut {
  /// One request carries at most 1 GiB.
  package var byteCountMax: Int64 { min(1 << 30, host.limits.contentByteCountMax) }

  package func admit(
    _ head: RequestHead, _ captures: [Substring]
  ) throws -> ContentUpload.Asked {
    let request = try AccountRequest(head, captures, host.gate)
    return ContentUpload.Asked(
      try ContentWrite(request, id(request)), query: head.query, byteCount: head.contentLength ?? 0,
      ContentUpload.Attempt(digest: request.digest, uploads))
  }

  package func inquire(_ asked: ContentUpload.Asked) -> Inquiry? {
    host.gate.inquiry(asked.write.credentials)
  }

  package func lane(_ asked: ContentUpload.Asked) -> Identifier? { asked.write.credentials.lane }

  /// Whether an upload makes progress. Of another process's upload it is only known whether that
  /// process runs.
  package func isMoving(_ object: Identifier, _ instance: Identifier?) -> Bool {
    guard let instance, instance != host.objects.instance else {
      return uploads.attempt(object)?.isMoving ?? false
    }
    return host.objects.isRunning(instance)
  }

  package func receive(
    _ reception: ContentUpload.Reception
  ) throws -> ContentUpload.Attempt {
    let attempt = reception.asked.attempt
    switch reception {
    case .receive(_, let superseded):
      if let superseded { uploads.attempt(superseded)?.supersede() }
      try attempt.open(in: host.objects)
    case .repeated: attempt.drop()
    }
    return attempt
  }

  package func settle(
    _ reception: ContentUpload.Reception, _ attempt: ContentUpload.Attempt
  ) throws {
    if case .receive(let asked, _) = reception {
      asked.write.credentials.meter.charge(Price.content(asked.byteCount), for: .content)
    }
    try attempt.settle()
  }
}

extension ContentWrite {
  package init(_ request: AccountRequest, _ id: Identifier) throws {
    try self.init(request.credentials, id, request.head.headers, digest: request.digest)
  }
}
