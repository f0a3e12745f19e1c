/// The server's requirements of a signature, besides its validity.
package struct SignaturePolicy: Sendable {
  /// The hosts of this server, in lower case, with a port unless it is the scheme's default.
  package let authorities: Set<String>
  /// The longest time from creation to expiry.
  static let lifetimeSecondsMax: Int64 = 300
  /// How far a client's clock may be ahead of the server's.
  static let futureSkewSeconds: Int64 = 30

  /// The dictionary fields of the IANA registry that a request may carry (https://www.iana.org/assignments/http-fields).
  /// `sf` is refused for any other field (RFC 9421, section 2.1.1).
  package static let registeredFieldKinds: [String: StructuredField.Kind] = [
    "accept-signature": .dictionary, "content-digest": .dictionary, "priority": .dictionary,
    "repr-digest": .dictionary, "signature": .dictionary, "signature-input": .dictionary,
    "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
  ]

  package init(authorities: Set<String>) {
    self.authorities = Set(authorities.map { $0.lowercased() })
  }
}
