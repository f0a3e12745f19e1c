package import Base

/// The keys that lie beside the stories, for tests that sign, verify or ask for themselves.
package enum StoryKeys {
  /// The App Store's chain: what certificates lead to, and what signs (DER).
  package static var appleRoot: [UInt8] { RecordedStory.bytes("apple/keys/root.der") }
  package static var appleIntermediate: [UInt8] {
    RecordedStory.bytes("apple/keys/intermediate.der")
  }
  package static var appleLeaf: [UInt8] { RecordedStory.bytes("apple/keys/leaf.der") }
  /// The leaf's key (PEM).
  package static var appleLeafKey: Secret { Secret(RecordedStory.bytes("apple/keys/leaf.pem")) }
  /// The key set of the issuer of Google's tokens.
  package static var googleKeySet: [UInt8] { RecordedStory.bytes("google/keys/jwks.json") }
  package static var googleServiceAccount: [UInt8] {
    RecordedStory.bytes("google/keys/service-account.json")
  }
  /// The private halves (PEM).
  package static var googleIssuerKey: Secret {
    Secret(RecordedStory.bytes("google/keys/issuer.pem"))
  }
  package static var googleServiceKey: Secret {
    Secret(RecordedStory.bytes("google/keys/service.pem"))
  }
}
