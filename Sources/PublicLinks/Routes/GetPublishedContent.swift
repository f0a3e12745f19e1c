import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Objects
import Storage

/// `GET /p/{secret}`: a published content or a range of it, for whoever has the token. It needs no account.
///
/// Nothing published may act as a page of this server. So answers are sandboxed attachments of a type that no browser
/// shows. Pages of any origin may read them: they need the token, and no cookie is involved. `OPTIONS` tells browsers so,
/// which ask before a page sends Range or If-None-Match.
struct GetPublishedContent: Sendable {
  let host: ProtocolHost

  private static let pattern = "/p/{secret}"

  var routes: [Route] {
    [
      Route("GET", Self.pattern) { head, captures in
        Self.mark(head)
        if let seconds = host.linkLimits.secondsToWait(countingRequestOf: head.remoteAddress) {
          throw LinkRefusal.requestsLimited(retryAfterSeconds: seconds)
        }
        guard let hash = LinkToken(captures[0])?.hash else { throw LinkRefusal.linkNotFound }
        return .ready(Admission(body: .none, finish: { _ in answer(head, hash) }))
      },
      Route("OPTIONS", Self.pattern) { head, _ in
        Self.mark(head)
        return .ready(Admission(body: .none, finish: { _ in .ready(Self.permission) }))
      },
    ]
  }

  /// The same for every token, whether it is known or not.
  private static let permission = Response(
    status: 204,
    headers: [
      ("Access-Control-Allow-Methods", "GET, HEAD"),
      ("Access-Control-Allow-Headers", "If-Match, If-None-Match, If-Range, Range"),
      ("Access-Control-Max-Age", "7200"),
    ], body: .bytes([]))

  /// The fields of every answer, refusals included.
  private static func mark(_ head: RequestHead) {
    for (name, value) in fields { head.answerFields.set(name, value) }
  }

  private static let fields = [
    ("Cache-Control", "no-store"), ("Content-Security-Policy", "sandbox; default-src 'none'"),
    ("X-Content-Type-Options", "nosniff"), ("Content-Disposition", "attachment"),
    ("Cross-Origin-Resource-Policy", "cross-origin"), ("Referrer-Policy", "no-referrer"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "Accept-Ranges, Content-Range, ETag, Retry-After"),
  ]

  /// The object is opened on the pool, because the object store may be another machine.
  private func answer(_ head: RequestHead, _ hash: [UInt8]) -> Step<Response> {
    .pending { done in
      host.database.submitRead(for: Identifier(bytes: hash.prefix(16))) { reader in
        try find(reader, hash)
      } completion: { (result: Result<PublicLink, any Error>) in
        switch result {
        case .failure(let error): done(.failure(error))
        case .success(let link):
          let accepted = host.pool.submit(for: link.owner) {
            done(Result { try respond(link, to: head) })
          }
          if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
        }
      }
    }
  }

  private func find(_ reader: Reader, _ hash: [UInt8]) throws -> PublicLink {
    guard let link = try PublicLink.served(reader, hash, now: host.clock.now()) else {
      throw LinkRefusal.linkNotFound
    }
    // Before the object is opened.
    try count(0, of: link.owner)
    return link
  }

  private func count(_ byteCount: Int64, of owner: Identifier) throws(LinkRefusal) {
    if let seconds = host.linkLimits.secondsToWait(sending: byteCount, of: owner) {
      throw .transferLimited(retryAfterSeconds: seconds)
    }
  }

  /// The bytes always pass through here: the object store would send none of the fields, and count nothing.
  private func respond(_ link: PublicLink, to head: RequestHead) throws -> Response {
    let (response, byteCount) = try Download(
      link.content, host.objects, pool: host.pool, givesLinks: false
    ).response(to: head)
    try count(byteCount, of: link.owner)
    head.answerFields.set("Cache-Control", link.caching(host.clock.now()))
    host.transfers.sent(byteCount, of: link.owner)
    return response
  }
}
