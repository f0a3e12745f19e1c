import Base
package import Endpoints
package import HTTPMessages
package import HTTPServer
import Objects
package import Requests
package import Storage

/// A `GET` of content, which may be in an object: all of it or a range, with its version as entity tag.
package protocol ContentGet: SyncRead where Answer == StoredContent {
  /// What the client's own cache may do with the ciphertext.
  func caching(_ request: AccountRequest) throws -> String
}

extension ContentGet {
  /// Large content is opened on the pool if the store may be another machine. Otherwise the thread that read its row
  /// opens it, which waits for a disk of this machine at most, as it does when the content is sent.
  package func perform(
    _ request: AccountRequest, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    try find(request, on: database).then { (found: StoredContent) throws -> Step<Response> in
      guard case .object = found.place, !host.objects.opensAtOnce else {
        return .ready(try respond(found, to: request))
      }
      return .pending { done in
        let accepted = host.pool.submit(for: found.owner) {
          done(Result { try respond(found, to: request) })
        }
        if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
      }
    }
  }

  private func find(
    _ request: AccountRequest, on database: Database
  ) throws -> Step<StoredContent> {
    guard !database.readsInline else {
      return .ready(try database.readOwned { reader in try read(reader, request) })
    }
    return .pending { done in
      database.submitRead(
        for: lane(request), { reader in try read(reader, request) }, completion: done)
    }
  }

  package func respond(_ found: StoredContent, to request: AccountRequest) throws -> Response {
    let (response, byteCount) = try Download(found, host.objects, pool: host.pool)
      .response(to: request.head)
    // A link to the object store ends soon.
    let caching = response.status == 307 ? "no-store" : try caching(request)
    request.head.answerFields.set("Cache-Control", caching)
    if byteCount > 0 {
      request.credentials.meter.charge(Price.content(byteCount), for: .content)
      host.transfers.sent(byteCount, of: found.owner)
    }
    return response
  }
}
