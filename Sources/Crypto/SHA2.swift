/// SHA-256 (FIPS 180-4) of bytes in memory: 32 bytes.
package enum SHA256 {
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha256.hash(bytes) }
}

/// SHA-512 (FIPS 180-4) of bytes in memory: 64 bytes.
package enum SHA512 {
  package static func hash(_ bytes: [UInt8]) -> [UInt8] { DigestAlgorithm.sha512.hash(bytes) }
}

/// SHA-256 in parts.
package final class SHA256Stream: DigestStream {
  package init() { super.init(.sha256) }
}

/// SHA-512 in parts.
package final class SHA512Stream: DigestStream {
  package init() { super.init(.sha512) }
}
