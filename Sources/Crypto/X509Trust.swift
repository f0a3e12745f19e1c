package import Base
import COpenSSL

/// Why a certificate's chain does not lead to a trusted root, at the time in question.
package enum X509Refusal: Error, Hashable, Sendable {
  case notYetValid
  case expired
  /// Not issued by the stated issuer, or not by one of our roots.
  case untrusted
  /// Basic constraints, path length, key usage, an unknown critical extension or a weak algorithm.
  /// `code` is OpenSSL's number of the reason (`X509_V_ERR_…`).
  case unsuitable(code: Int32)
}

/// The roots to which a delivered chain must lead. The system's roots are not used.
///
/// Safe to share between threads. Revocation is not checked.
@safe
package final class X509Trust: @unchecked Sendable {
  package let roots: [X509Certificate]
  private let store: OpaquePointer

  /// Nil for an empty list.
  package init?(roots: [X509Certificate]) {
    guard !roots.isEmpty else { return nil }
    guard let store = unsafe X509_STORE_new() else {
      preconditionFailure("OpenSSL has no memory for roots")
    }
    for root in roots {
      let code = unsafe X509_STORE_add_cert(store, root.handle)
      precondition(code == 1, "OpenSSL took no root")
    }
    self.roots = roots
    unsafe self.store = store
  }

  deinit { unsafe X509_STORE_free(store) }

  /// Proves that a root issued `intermediate`, that `intermediate` issued `leaf`, and that all are valid at `moment`.
  ///
  /// Makes RFC 5280's path checks in OpenSSL's strict mode, and requires 112 bits of security in every signature. The
  /// path has exactly these three certificates.
  package func verify(
    leaf: X509Certificate, intermediate: X509Certificate, at moment: Instant
  ) throws(X509Refusal) {
    guard let untrusted = unsafe coffer_certificates(), let context = unsafe X509_STORE_CTX_new()
    else { preconditionFailure("OpenSSL has no memory for a chain") }
    defer {
      unsafe X509_STORE_CTX_free(context)
      unsafe coffer_certificates_release(untrusted)
      ERR_clear_error()
    }
    guard unsafe coffer_certificates_push(untrusted, intermediate.handle) > 0,
      unsafe X509_STORE_CTX_init(context, store, leaf.handle, untrusted) == 1,
      let parameters = unsafe X509_STORE_CTX_get0_param(context)
    else { preconditionFailure("OpenSSL has no memory for a chain") }
    unsafe X509_VERIFY_PARAM_set_time(parameters, Int(moment.seconds))
    unsafe X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT))
    unsafe X509_VERIFY_PARAM_set_depth(parameters, 1)
    unsafe X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    guard unsafe X509_verify_cert(context) == 1 else {
      throw unsafe Self.refusal(X509_STORE_CTX_get_error(context))
    }
    let chain = unsafe X509_STORE_CTX_get0_chain(context)
    guard unsafe coffer_certificates_count(chain) == 3,
      unsafe X509_cmp(coffer_certificates_at(chain, 1), intermediate.handle) == 0
    else { throw .untrusted }
  }

  private static func refusal(_ code: Int32) -> X509Refusal {
    switch code {
    case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
    case X509_V_ERR_CERT_HAS_EXPIRED: .expired
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_SIGNATURE_FAILURE,
      X509_V_ERR_CERT_CHAIN_TOO_LONG, X509_V_ERR_CERT_UNTRUSTED:
      .untrusted
    default: .unsuitable(code: code)
    }
  }
}
