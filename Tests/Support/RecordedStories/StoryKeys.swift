package import Base

/// The keys next to the stories, for tests that sign, verify or send requests themselves.
package enum StoryKeys {
  /// The App Store's chain, from the root to the signing certificate (DER).
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
  /// The private keys (PEM).
  package static var googleIssuerKey: Secret {
    Secret(RecordedStory.bytes("google/keys/issuer.pem"))
  }
  package static var googleServiceKey: Secret {
    Secret(RecordedStory.bytes("google/keys/service.pem"))
  }
}
