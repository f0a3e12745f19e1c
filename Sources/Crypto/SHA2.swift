/// SHA-256 (FIPS 180-4) of bytes in memory: 32 bytes.
package enum SHA256 {
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha256.hash(bytes) }
}

/// SHA-512 (FIPS 180-4) of bytes in memory: 64 bytes.
package enum SHA512 {
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha512.hash(bytes) }
}

/// SHA-256 of a body that arrives in parts. For one thread at a time; unusable after `finalize`.
package final class SHA256Stream {
  private let state = DigestState(.sha256)

  package init() {}

  package func update(_ bytes: RawSpan) { state.update(bytes) }
  package func finalize() -> [UInt8] { state.finalize() }
}

/// SHA-512 of a body that arrives in parts. For one thread at a time; unusable after `finalize`.
package final class SHA512Stream {
  private let state = DigestState(.sha512)

  package init() {}

  package func update(_ bytes: RawSpan) { state.update(bytes) }
  package func finalize() -> [UInt8] { state.finalize() }
}
