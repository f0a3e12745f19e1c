package import Base

/// The choice of who gets a purchase that another account owns, when its device presents it. People
/// who lost their key open a new account, and still pay for the old one.
package enum RestorePolicy: Hashable, Sendable {
  /// No one, except by an operator's transfer.
  case refuse
  /// The claimant, if the owner did nothing for this long.
  case afterInactivity(Instant.Span)
  /// The claimant, at once.
  case transfer
}

extension Parser where Value == RestorePolicy {
  static var restorePolicy: Parser {
    Parser { (text) throws(ParseFailure) in
      switch text {
      case "refuse": return .refuse
      case "transfer": return .transfer
      default:
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "inactive", let days = Int64(parts[1]),
          (1...3650).contains(days)
        else {
          throw ParseFailure(
            "\(quoted(text)) is not refuse, transfer or inactive:<days from 1 to 3650>")
        }
        return .afterInactivity(.days(days))
      }
    }
  }
}
