import COpenSSL

/// The public half of an Ed25519 key pair (RFC 8032): 32 bytes that identify and check its holder.
///
/// The bytes need not be a point of the curve; if they are not, no signature is valid under them. But they are the
/// shortest encoding of their value, and no point of small order: under one a signature fits one message in eight or
/// every one.
package struct Ed25519PublicKey: Hashable, Sendable {
  package static let byteCount = 32
  package static let signatureByteCount = 64

  package let bytes: [UInt8]

  /// Nil unless there are 32 bytes that can be a key with a holder.
  package init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, Self.isCanonical(bytes), !Self.isOfSmallOrder(bytes) else {
      return nil
    }
    self.bytes = bytes
  }

  /// Whether y is less than p = 2^255 - 19 (RFC 8032, section 5.1.3). It is little-endian; the highest bit is x's sign.
  private static func isCanonical(_ bytes: [UInt8]) -> Bool {
    bytes[31] & 0x7f < 0x7f || bytes[1..<31].contains { $0 < 0xff } || bytes[0] < 0xed
  }

  /// Whether the point's order divides 8. The eight such points have five values of y, with either sign of x.
  private static func isOfSmallOrder(_ bytes: [UInt8]) -> Bool {
    smallOrder.contains(bytes[..<31] + [bytes[31] & 0x7f])
  }

  private static let smallOrder: Set<ArraySlice<UInt8>> = [
    // The value 0 has order 4; 1 is the neutral element; p - 1 has order 2.
    [0] + zeros + [0], [1] + zeros + [0], [0xec] + [UInt8](repeating: 0xff, count: 30) + [0x7f],
    // The two values of order 8.
    [
      0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
      0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
      0xfc, 0x05,
    ],
    [
      0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
      0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
      0x03, 0x7a,
    ],
  ]

  private static let zeros = [UInt8](repeating: 0, count: 30)

  /// Whether the holder of the private half signed exactly this message.
  ///
  /// The parsed key is not kept: everything besides the check itself takes 5 of 68 microseconds.
  package func isValid(signature: [UInt8], for message: [UInt8]) -> Bool {
    guard signature.count == Self.signatureByteCount else { return false }
    let key = unsafe KeyHandle(
      owning: EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count))
    let context = DigestContext()
    guard unsafe EVP_DigestVerifyInit(context.handle, nil, nil, nil, key.handle) == 1 else {
      preconditionFailure("OpenSSL has no Ed25519")
    }
    let code = unsafe EVP_DigestVerify(
      context.handle, signature, signature.count, message, message.count)
    guard code == 1 else {
      // What OpenSSL notes about a wrong signature would remain in this thread's error queue.
      ERR_clear_error()
      return false
    }
    return true
  }
}

/// Owns the state of one signature that is being made or checked.
@safe
struct DigestContext: ~Copyable {
  let handle: OpaquePointer

  init() {
    guard let handle = unsafe EVP_MD_CTX_new() else {
      preconditionFailure("OpenSSL has no memory for a signature")
    }
    unsafe self.handle = handle
  }

  deinit { unsafe EVP_MD_CTX_free(handle) }
}
