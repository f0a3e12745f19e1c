package import Base

/// Why a provider's API gave no usable answer. The texts hold no URL, header, token or body.
package enum APIFailure: Error, Equatable, Sendable {
  /// It may work later: 408, 429, 5xx, a timeout, no connection, or the circuit is open.
  case transient(String, retryAfter: Instant.Span?)
  /// A 4xx that repeating the request does not change.
  case refused(status: Int, String)
  /// 410.
  case gone
  /// 404.
  case notFound
  /// Our key or our configuration is wrong: 401 or 403, also after a new token.
  case misconfigured(String)
  /// The answer is not what the provider's documentation says, or longer than accepted.
  case malformed(String)
}

extension APIFailure {
  /// Whether the failure is about the requested object, not about us, the network or a passing state of the
  /// store. Only the store's own answer may be: a proxy's 404 would end what a client claimed.
  package var isAboutObject: Bool {
    switch self {
    case .notFound, .gone, .refused: true
    case .transient, .misconfigured, .malformed: false
    }
  }

  /// The failure of an answer that does not have the form of `store`'s errors: a setting is wrong.
  package static func stranger(inPlaceOf store: String, _ status: Int) -> APIFailure {
    .misconfigured("something else than \(store) answers \(status)")
  }
}

extension APIFailure: CustomStringConvertible {
  package var description: String {
    switch self {
    case .transient(let reason, _): reason
    // Nothing was sent.
    case .refused(0, let reason): "refused: \(reason)"
    case .refused(let status, let reason): "refused with \(status): \(reason)"
    case .gone: Self.goneText
    case .notFound: Self.notFoundText
    case .misconfigured(let reason): Self.misconfiguredPrefix + reason
    case .malformed(let reason): Self.malformedPrefix + reason
    }
  }

  /// The token that a purchase is read by is sealed with a key that is none of the configured ones.
  package static let sealedToken = misconfigured("the purchase's token is sealed under another key")

  /// The provider keeps its failure under the request's idempotency key. Under that key it never answers anything
  /// else, and whether the request took effect is unknown.
  package static let replayed = transient("the provider repeats an earlier 5xx", retryAfter: nil)

  private static let goneText = "the object is gone"
  private static let notFoundText = "there is no such object"
  private static let misconfiguredPrefix = "the configuration is wrong: "
  private static let malformedPrefix = "the answer is malformed: "
}

extension APIFailure {
  /// Who must act on it.
  package enum Cause: String, Sendable {
    /// The store, which may answer again by itself.
    case silence
    /// We: our key is refused, or a setting is wrong.
    case configuration
    /// We: the key is missing that a purchase's token is sealed with. The store was not asked.
    case sealing
    /// No one: the store has given its answer about this object.
    case object
    /// The maintainers of this program: the answer differs from the store's documentation.
    case answer

    /// Reads what `description` wrote. A job keeps that text, perhaps since an old version.
    package init(told text: String) {
      self =
        if text == sealedToken.description {
          .sealing
        } else if text.hasPrefix(misconfiguredPrefix) {
          .configuration
        } else if text.hasPrefix(malformedPrefix) {
          .answer
        } else if text.hasPrefix("refused") || text == goneText || text == notFoundText {
          .object
        } else {
          .silence
        }
    }

    /// What the store has done since reads began to fail. The text follows the store's name.
    package var deed: String {
      switch self {
      case .silence: "has not answered"
      case .configuration: "has refused our key or settings"
      case .sealing: "could not be asked without a key in COFFER_SEALING_KEYS"
      case .object: "has refused this read"
      case .answer: "has answered nothing that can be read"
      }
    }
  }
}

/// Runs `work`, which reads an answer. Its error becomes `.malformed`.
package func malformed<Value, Failure: Error>(
  _ work: () throws(Failure) -> Value
) throws(APIFailure) -> Value {
  do { return try work() } catch { throw .malformed("\(error)") }
}
