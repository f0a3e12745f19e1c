import COpenSSL

/// Whether two byte strings are equal, in a time that depends on their lengths only.
package func constantTimeEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
  guard a.count == b.count else { return false }
  return unsafe CRYPTO_memcmp(a, b, a.count) == 0
}
