import Base
import Requests

/// What an owner states of a link beside its content: `expires` and `max_age` of a query. Other names are ignored.
struct LinkTerms: Sendable {
  /// When the link ends; nil: not by itself.
  private(set) var expires: Instant?
  /// For how many seconds others may keep a copy; 0: not at all.
  private(set) var cacheSeconds: Int64 = 0

  /// A revoked link may be read from copies for as long, so it is bounded.
  static let cacheSecondsMax: Int64 = 86_400
  /// The end of the year 9999.
  private static let secondsMax: Int64 = 253_402_300_799

  init(_ query: Substring?) throws(LinkRefusal) {
    for (name, value) in queryFields(query) {
      switch name {
      case "expires":
        guard let seconds = Int64(value), 0...Self.secondsMax ~= seconds else {
          throw .termsInvalid(name: "expires", rule: "must be whole seconds since 1970")
        }
        expires = Instant(seconds: seconds)
      case "max_age":
        guard let seconds = Int64(value), 0...Self.cacheSecondsMax ~= seconds else {
          throw .termsInvalid(
            name: "max_age", rule: "must be a number from 0 to \(Self.cacheSecondsMax)")
        }
        cacheSeconds = seconds
      default: break
      }
    }
  }

  func requireFuture(_ now: Instant) throws(LinkRefusal) {
    if let expires, expires <= now {
      throw .termsInvalid(name: "expires", rule: "must lie in the future")
    }
  }
}
