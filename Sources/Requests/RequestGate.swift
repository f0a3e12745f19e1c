package import Base
package import Endpoints
package import HTTPMessages
package import HTTPServer
package import HTTPSignatures

/// The entry of accounts' requests. The headers identify the caller before a byte of the body is read.
package struct RequestGate: Sendable {
  package let authenticator: Authenticator
  let limiter: RequestLimiter
  private let refusals: AddressBudget
  package let clock: Clock

  /// `refusals` limits the refused requests of an address, `limiter` the requests of an account.
  package init(
    authenticator: Authenticator, limiter: RequestLimiter, refusals: AddressBudget, clock: Clock
  ) {
    self.authenticator = authenticator
    self.limiter = limiter
    self.refusals = refusals
    self.clock = clock
  }

  /// Refuses a request of an address that has had too many refused, before anything is computed for
  /// it. A request in the name of a recently confirmed key or session passes, because many callers
  /// share an address.
  func refuseSpent(_ head: RequestHead) throws(RequestRefusal) {
    guard let seconds = refusals.secondsToWait(head.remoteAddress) else { return }
    guard let key = authenticator.claimedKey(head), limiter.knows(key) else {
      throw .addressRefused(retryAfterSeconds: seconds)
    }
  }

  /// Charges an address for a refusal that no known caller has caused.
  func note(_ refusal: RequestRefusal, _ head: RequestHead) {
    if refusal.isOfStranger { refusals.spend(head.remoteAddress) }
  }

  /// The meter of a request whose account its work finds, which confirms it.
  package func meter(_ key: [UInt8], _ head: RequestHead) -> RequestMeter {
    RequestMeter(limiter, key: key, head.answerFields) { refusals.spend(head.remoteAddress) }
  }

  /// The meter of a request that is allowed by a secret in its path, with the hash of that secret.
  package func meter(
    ofSecret hash: [UInt8], _ head: RequestHead
  ) throws(RequestRefusal) -> RequestMeter {
    head.answerFields.set("Cache-Control", "private, no-store")
    if !limiter.knows(hash), let seconds = refusals.secondsToWait(head.remoteAddress) {
      throw .addressRefused(retryAfterSeconds: seconds)
    }
    let meter = meter(hash, head)
    try meter.begin()
    return meter
  }

  /// Looks up the owner of a request's key or session; nil if the owner is remembered. The inquiry
  /// comes before the body is read, because strangers send bodies, too. The transaction asks again.
  package func inquiry(_ credentials: Credentials) -> Inquiry? {
    guard !credentials.meter.isCounted else { return nil }
    return { reader in _ = try Caller(reader, credentials, now: clock.now()) }
  }
}

/// A request whose headers were accepted.
package struct AccountRequest: Sendable {
  package let head: RequestHead
  package let captures: [String]
  package let credentials: Credentials
  /// The digest that the body must match; nil if the request has none.
  package let digest: ContentDigest?

  /// Authenticates by the headers, and refuses an account whose requests are used up.
  package init(
    _ head: RequestHead, _ captures: [Substring], _ gate: RequestGate
  ) throws(RequestRefusal) {
    self.head = head
    self.captures = captures.map(String.init)
    // Without an Authorization field, shared caches could store the response (RFC 9111, section
    // 3.5).
    head.answerFields.set("Cache-Control", "private, no-store")
    try gate.refuseSpent(head)
    do {
      let proof = try gate.authenticator.proof(head)
      credentials = Credentials(proof: proof, meter: gate.meter(proof.key, head))
      digest =
        switch proof {
        case .signed(let signature): signature.contentDigest
        case .session, .key, .app: try Self.announcedDigest(head)
        }
    } catch {
      gate.note(error, head)
      throw error
    }
    try credentials.meter.begin()
  }

  /// The digest that a session's request announces, if any; it need not.
  private static func announcedDigest(
    _ head: RequestHead
  ) throws(RequestRefusal) -> ContentDigest? {
    guard let field = head.headers.combined("content-digest") else { return nil }
    do { return try ContentDigest.parse(field) } catch { throw .signature(error) }
  }

  /// Returns the body, once it is known to be the one that was signed.
  package func checked(_ body: [UInt8]) throws(RequestRefusal) -> [UInt8] {
    guard let digest else { return body }
    guard digest.matches(body) else { throw .digestMismatch }
    return body
  }
}
