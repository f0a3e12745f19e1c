package import Base
internal import Crypto
internal import HTTPMessages
internal import JSON
package import ProviderAPI

/// Google's keys that push tokens are signed with, read from its key set and kept for a while.
///
/// Read again when the set has had its time or a token names a key that is not in it, but never
/// twice within a minute: a forged key id costs nothing. While the set cannot be read the last one
/// serves for a day. Any thread may use it; one reads while the others use what there is.
package final class PushKeys: Sendable {
  package static let refreshFloor = Instant.Span.seconds(60)
  package static let ageLimits = (min: Instant.Span.minutes(5), max: Instant.Span.hours(24))
  /// How long a set serves beyond its time while its address does not answer.
  package static let staleMax = Instant.Span.hours(24)
  private static let keyCountMax = 32

  private let url: String
  private let transport: any ProviderTransport
  private let clock: Clock
  private let state = Locked(State())

  private struct State: Sendable {
    var keys: [String: RSAPublicKey] = [:]
    var freshUntil = Instant.distantPast
    var usableUntil = Instant.distantPast
    var lastAttempt = Instant.distantPast
    var isReading = false
    var hasFailed = false
  }

  package init(url: String, transport: any ProviderTransport, clock: Clock) {
    self.url = url
    self.transport = transport
    self.clock = clock
  }

  /// The key of that id. Blocks while it reads the set, at most for the transport's deadline.
  func key(_ id: String) throws(GoogleRefusal) -> RSAPublicKey {
    let now = clock.now()
    let (known, mustRead) = state.withLock { state -> (RSAPublicKey?, Bool) in
      let known = now < state.usableUntil ? state.keys[id] : nil
      let isDue = known == nil || now >= state.freshUntil
      // A clock that was set back must not hold up the next read.
      let isTooSoon = (state.lastAttempt..<state.lastAttempt + Self.refreshFloor).contains(now)
      let mayRead = !state.isReading && !isTooSoon
      guard isDue, mayRead else { return (known, false) }
      state.isReading = true
      state.lastAttempt = now
      return (known, true)
    }
    if mustRead { read() }
    if let known { return known }
    return try state.withLock { state throws(GoogleRefusal) -> RSAPublicKey in
      guard now < state.usableUntil else { throw .keysUnavailable }
      if let key = state.keys[id] { return key }
      throw state.isReading || state.hasFailed ? .keysUnavailable : .unknownKey
    }
  }

  private func read() {
    let result = Result { () throws(APIFailure) in
      let reply = try transport.send(
        APIRequest("GET", url, headers: [("Accept", "application/json")])
      )
      .successful()
      let keys = Self.keys(reply.body)
      guard !keys.isEmpty else { throw APIFailure.malformed("the key set holds no RSA key") }
      return (keys, Self.age(reply))
    }
    let now = clock.now()
    state.withLock { state in
      state.isReading = false
      state.hasFailed = true
      if case .success(let (keys, age)) = result {
        state.hasFailed = false
        state.keys = keys
        state.freshUntil = now + age
        state.usableUntil = now + age + Self.staleMax
      }
    }
    if case .failure(let failure) = result {
      Log.warning("google.keys_not_read", ["reason": "\(failure)"])
    }
  }

  /// RSA keys that may sign so, by id; others, and malformed ones, are passed over.
  private static func keys(_ body: [UInt8]) -> [String: RSAPublicKey] {
    guard let json = try? JSON.parse(body), let list = json["keys"].array else { return [:] }
    var keys: [String: RSAPublicKey] = [:]
    for item in list.prefix(keyCountMax) where item["kty"].string == "RSA" {
      guard let id = item["kid"].string, isID(id), item["use"].string ?? "sig" == "sig",
        item["alg"].string ?? "RS256" == "RS256",
        let modulus = item["n"].string.flatMap({ Base64.url.decode($0) }),
        let exponent = item["e"].string.flatMap({ Base64.url.decode($0) }),
        let key = RSAPublicKey(modulus: modulus, exponent: exponent)
      else { continue }
      keys[id] = key
    }
    return keys
  }

  private static func age(_ reply: APIReply) -> Instant.Span {
    let directives = (reply.headers.text("cache-control") ?? "").split(separator: ",")
    for directive in directives {
      let text = directive.drop { $0 == " " }
      guard text.lowercased().hasPrefix("max-age="), let seconds = Int64(text.dropFirst(8)) else {
        continue
      }
      return min(max(.seconds(min(max(0, seconds), 1_000_000)), ageLimits.min), ageLimits.max)
    }
    return ageLimits.min
  }
}
