import Endpoints
import HTTPMessages
import JSON

/// The refusals that only public links have, each for one reason that a client can act on.
enum LinkRefusal: AnswerableError, Equatable {
  case linkNotFound
  case tooManyLinks(max: Int64)
  case termsInvalid(name: String, rule: String)
  case requestsLimited(retryAfterSeconds: Int)
  case transferLimited(retryAfterSeconds: Int)

  var problem: Problem {
    switch self {
    case .linkNotFound:
      Problem(404, "link_not_found", "Link not found", "There is no such link, or it has ended.")
    case .tooManyLinks(let max):
      Problem(
        409, "too_many_links", "Too many links",
        "An account has at most \(max) public links. Revoke one.",
        members: [.init("max", .integer(max))])
    case .termsInvalid(let name, let rule):
      Problem(400, "link_terms_invalid", "Terms invalid", "\(name) \(rule).")
    case .requestsLimited(let seconds):
      Problem(
        429, "link_requests_limited", "Too many requests",
        "Too many requests for links from this address. Try again later.",
        retryAfterSeconds: seconds)
    case .transferLimited(let seconds):
      Problem(
        429, "link_transfer_limited", "Too much sent",
        "The links of this account have sent as much as they may for now. Try again later.",
        retryAfterSeconds: seconds)
    }
  }
}
