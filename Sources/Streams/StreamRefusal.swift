import Endpoints
package import HTTPMessages

/// Why a stream is not opened, besides the refusals of any request.
package enum StreamRefusal: AnswerableError, Equatable {
  case tooManyOfAccount(max: Int)
  case tooManyOfAddress(max: Int)
  case full

  enum Limit: String, CaseIterable, Sendable { case account, address, instance }

  var limit: Limit {
    switch self {
    case .tooManyOfAccount: .account
    case .tooManyOfAddress: .address
    case .full: .instance
    }
  }

  package var problem: Problem {
    switch self {
    case .tooManyOfAccount(let max):
      Problem(
        429, "too_many_streams", "Too many streams",
        "The account has \(max) streams open. End one, or ask for updates from time to time.",
        retryAfterSeconds: 60)
    case .tooManyOfAddress(let max):
      Problem(
        429, "too_many_streams", "Too many streams",
        "This address has \(max) streams open. Ask for updates from time to time.",
        retryAfterSeconds: 60)
    case .full:
      Problem(
        503, "streams_full", "No room for a stream",
        "The server has all the streams that it can hold. Ask for updates from time to time.",
        retryAfterSeconds: 60)
    }
  }
}
