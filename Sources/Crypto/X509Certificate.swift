package import Base
import COpenSSL
import Glibc

/// One X.509 certificate (RFC 5280), parsed but not verified. Safe to share between threads.
@safe
package final class X509Certificate: @unchecked Sendable {
  /// Certificates of public authorities have 1,000 to 2,000 bytes.
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
    // The first call fills OpenSSL's cache of the extensions, and finds malformed ones.
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

  /// Whether anything in the certificate allows it to issue others, including an old form or a key usage.
  package var isAuthority: Bool { unsafe X509_check_ca(handle) != 0 }

  /// Whether the certificate has the extension with this dotted name.
  package func hasExtension(_ name: String) -> Bool {
    guard let object = unsafe OBJ_txt2obj(name, 1) else {
      ERR_clear_error()
      return false
    }
    defer { unsafe ASN1_OBJECT_free(object) }
    return unsafe X509_get_ext_by_OBJ(handle, object, -1) >= 0
  }

  /// The certificate's key; nil if it is of another kind or curve.
  package var p256PublicKey: P256PublicKey? {
    guard let key = unsafe KeyHandle(parsed: X509_get_pubkey(handle)) else { return nil }
    return P256PublicKey(key)
  }

  /// Whether the certificate is valid at this moment. At `notAfter` itself it is not, as in OpenSSL's path check.
  package func isValid(at moment: Instant) -> Bool { notBefore <= moment && moment < notAfter }

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
