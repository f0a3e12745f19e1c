package import Base
internal import COpenSSL
internal import Glibc

/// One X.509 certificate (RFC 5280), parsed and not yet believed. Safe to share between threads.
@safe
package final class X509Certificate: @unchecked Sendable {
  /// Certificates of public authorities have one to two thousand bytes.
  package static let byteCountMax = 8192

  package let der: [UInt8]
  package let notBefore: Instant
  package let notAfter: Instant
  let handle: OpaquePointer

  /// Nil unless the bytes are exactly one certificate whose extensions can be read.
  package init?(der: [UInt8]) {
    guard der.count <= Self.byteCountMax, let parsed = unsafe Self.parse(der) else {
      ERR_clear_error()
      return nil
    }
    // The first look at the extensions fills OpenSSL's cache of them, and finds what is malformed.
    guard unsafe X509_check_purpose(parsed, -1, 0) == 1,
      let notBefore = unsafe instant(X509_get0_notBefore(parsed)),
      let notAfter = unsafe instant(X509_get0_notAfter(parsed))
    else {
      unsafe X509_free(parsed)
      ERR_clear_error()
      return nil
    }
    self.der = der
    self.notBefore = notBefore
    self.notAfter = notAfter
    unsafe handle = parsed
  }

  deinit { unsafe X509_free(handle) }

  /// Whether anything in it lets it issue certificates, an old form or a key usage included.
  package var isAuthority: Bool { unsafe X509_check_ca(handle) != 0 }

  /// Whether it has an extension of this dotted name.
  package func hasExtension(_ name: String) -> Bool {
    guard let object = unsafe OBJ_txt2obj(name, 1) else {
      ERR_clear_error()
      return false
    }
    defer { unsafe ASN1_OBJECT_free(object) }
    return unsafe X509_get_ext_by_OBJ(handle, object, -1) >= 0
  }

  /// The key it speaks of; nil where that is of another kind or curve.
  package var p256PublicKey: P256PublicKey? {
    guard let key = unsafe KeyHandle(parsed: X509_get_pubkey(handle)) else { return nil }
    return P256PublicKey(key)
  }

  /// Whether it holds at this moment; at `notAfter` itself no longer, as in OpenSSL's path check.
  package func isValid(at moment: Instant) -> Bool { notBefore <= moment && moment < notAfter }

  /// Nil also where bytes are left over.
  private static func parse(_ der: [UInt8]) -> OpaquePointer? {
    unsafe der.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      guard let parsed = unsafe d2i_X509(nil, &cursor, buffer.count) else { return nil }
      guard unsafe cursor == buffer.baseAddress! + buffer.count else {
        unsafe X509_free(parsed)
        return nil
      }
      return unsafe parsed
    }
  }
}

private func instant(_ time: UnsafePointer<ASN1_TIME>?) -> Instant? {
  var fields = unsafe tm()
  guard unsafe ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
  return unsafe Instant(seconds: Int64(timegm(&fields)))
}
