internal import Base
package import JSON

/// A JSON Web Signature in its compact form (RFC 7515, section 7.1), taken apart and not yet verified.
///
/// Strict: three segments of base64url without padding or spaces, a header that is one object with
/// an `alg` and without `crit`. What the header says is the sender's word until a key that somebody
/// else vouches for accepts the signature.
package struct CompactJWS: Sendable {
  package let header: JSON
  /// `alg`, to be compared exactly: names of algorithms are case-sensitive.
  package let algorithm: String
  package let payload: [UInt8]
  /// What the signature speaks of: header, dot and payload as they came.
  package let signingInput: [UInt8]
  package let signature: [UInt8]

  package init(_ text: [UInt8], byteCountMax: Int = 256 * 1024) throws(JWSError) {
    let segments = try JWSSegments(text, byteCountMax: byteCountMax)
    (header, algorithm) = try segments.readHeader()
    payload = segments.payload
    signingInput = segments.signingInput
    signature = segments.signature
  }

  /// The text of a new one, for our own tokens and for tests.
  package static func compact(
    header: JSONValue, payload: [UInt8], sign: ([UInt8]) -> [UInt8]
  ) -> String {
    let input = Base64.url.encode(header.encoded()) + "." + Base64.url.encode(payload)
    return input + "." + Base64.url.encode(sign(Array(input.utf8)))
  }

  package static func compact(
    header: JSONValue, payload: JSONValue, sign: ([UInt8]) -> [UInt8]
  ) -> String {
    compact(header: header, payload: payload.encoded(), sign: sign)
  }
}

/// Why a text is no compact JWS that anybody may go on to verify. It never quotes the text.
package enum JWSError: Error, Hashable, Sendable {
  case tooLong
  case malformed(String)
  /// The header demands extensions to be understood.
  case critical
}
