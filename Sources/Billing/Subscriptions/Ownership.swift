package import Base

/// Whose subscription it is, by the token that our own metadata carries at the provider.
package enum Ownership: Hashable, Sendable {
  case unowned
  case owned(by: Identifier, evidence: Evidence)
  /// Two tokens that disagree: nobody's until the provider has been read again.
  case contested

  package enum Evidence: Hashable, Sendable {
    case subscriptionMetadata
    case checkoutSession(String)
  }

  package var account: Identifier? {
    if case .owned(let account, _) = self { account } else { nil }
  }

  /// The subscription's own token, else that of the checkout session that made it.
  init(subscription tokens: [Identifier], sessions: [String: [Identifier]]) {
    if let account = tokens.first {
      self =
        tokens.allSatisfy { $0 == account }
        ? .owned(by: account, evidence: .subscriptionMetadata) : .contested
      return
    }
    let claims = sessions.flatMap { id, tokens in tokens.map { (id, $0) } }
    guard let first = claims.min(by: { $0.0 < $1.0 }) else {
      self = .unowned
      return
    }
    self =
      claims.allSatisfy { $0.1 == first.1 }
      ? .owned(by: first.1, evidence: .checkoutSession(first.0)) : .contested
  }
}
