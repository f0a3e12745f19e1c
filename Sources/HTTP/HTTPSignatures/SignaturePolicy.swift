/// What this server demands of a signature beyond its being valid.
package struct SignaturePolicy: Sendable {
  /// The hosts that are us, in lower case; with a port unless it is the scheme's default.
  package let authorities: Set<String>
  /// From creation to expiry.
  package let lifetimeSecondsMax: Int64
  /// How far a client's clock may be ahead of ours.
  package let futureSkewSeconds: Int64
  /// The kinds of structured fields, by name: `sf` is refused for any other (RFC 9421, 2.1.1).
  package let fieldKinds: [String: StructuredField.Kind]

  /// The IANA registry's dictionaries that a request may carry
  /// (https://www.iana.org/assignments/http-fields).
  package static let registeredFieldKinds: [String: StructuredField.Kind] = [
    "accept-signature": .dictionary, "content-digest": .dictionary, "priority": .dictionary,
    "repr-digest": .dictionary, "signature": .dictionary, "signature-input": .dictionary,
    "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
  ]

  package init(
    authorities: Set<String>, lifetimeSecondsMax: Int64 = 300, futureSkewSeconds: Int64 = 30,
    fieldKinds: [String: StructuredField.Kind] = registeredFieldKinds
  ) {
    self.authorities = Set(authorities.map { $0.lowercased() })
    self.lifetimeSecondsMax = lifetimeSecondsMax
    self.futureSkewSeconds = futureSkewSeconds
    self.fieldKinds = fieldKinds
  }
}
