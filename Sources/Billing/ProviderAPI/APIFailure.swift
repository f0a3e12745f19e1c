package import Base

/// Why a provider's API gave no answer to use. The texts hold no URL, header, token or body.
package enum APIFailure: Error, Equatable, Sendable {
  /// Later it may work: 408, 429, 5xx, a timeout, no connection, or the circuit is open.
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
  /// Whether it says something of what was asked for, and not of us, the way there or the store's day. Only
  /// the store's own words may: a proxy's 404 would end what a client claimed.
  package var isAboutObject: Bool {
    switch self {
    case .notFound, .gone, .refused: true
    case .transient, .misconfigured, .malformed: false
    }
  }

  /// What has not the form of `store`'s errors is a wrong setting.
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

  /// What a purchase is read by was kept sealed, by a key that is none of those given.
  package static let sealedToken = misconfigured("the purchase's token is sealed under another key")

  private static let goneText = "the object is gone"
  private static let notFoundText = "there is no such object"
  private static let misconfiguredPrefix = "the configuration is wrong: "
  private static let malformedPrefix = "the answer is malformed: "
}

extension APIFailure {
  /// Who has to do something about it.
  package enum Cause: String, Sendable {
    /// The store, which may answer again by itself.
    case silence
    /// We: our key is refused, or a setting is wrong.
    case configuration
    /// We: a key is missing with which what we ask by is sealed. The store was not asked.
    case sealing
    /// Nobody: the store has given its answer, of this object.
    case object
    /// Whoever maintains this program: the answer is not what the store's documentation says.
    case answer

    /// Reads what `description` wrote, as it is kept with a job, also of long ago.
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

    /// What the store has done since reads fail: stands behind its name.
    package var deed: String {
      switch self {
      case .silence: "has not answered"
      case .configuration: "has refused our key or settings"
      case .sealing: "could not be asked for want of a key in COFFER_SEALING_KEYS"
      case .object: "has refused this read"
      case .answer: "has answered nothing that can be read"
      }
    }
  }
}

/// The failure that an answer is which cannot be read.
package func malformed<Value, Failure: Error>(
  _ work: () throws(Failure) -> Value
) throws(APIFailure) -> Value {
  do { return try work() } catch { throw .malformed("\(error)") }
}
