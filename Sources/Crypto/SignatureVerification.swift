import COpenSSL

/// A check of SHA-256 signatures, set up once with its key and copied for every check.
///
/// With an EC key it is ECDSA, with an RSA key RSASSA-PKCS1-v1_5, OpenSSL's default.
@safe
final class SignatureVerification: @unchecked Sendable {
  private let template: OpaquePointer

  init(_ key: KeyHandle) {
    guard let template = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key.handle, nil),
      unsafe EVP_PKEY_verify_init(template) == 1,
      unsafe EVP_PKEY_CTX_set_signature_md(template, DigestAlgorithm.sha256.handle) == 1
    else { preconditionFailure("OpenSSL cannot verify with such a key") }
    unsafe self.template = template
  }

  deinit { unsafe EVP_PKEY_CTX_free(template) }

  func accepts(signature: [UInt8], digest: [UInt8]) -> Bool {
    guard let context = unsafe EVP_PKEY_CTX_dup(template) else {
      preconditionFailure("OpenSSL has no memory for a signature")
    }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    let code = unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count)
    guard code == 1 else {
      ERR_clear_error()
      return false
    }
    return true
  }
}
