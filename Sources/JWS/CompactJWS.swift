import Base
package import JSON

/// A JSON Web Signature in its compact form (RFC 7515, section 7.1), parsed but not verified.
///
/// Parsing is strict: three segments of base64url without padding or spaces, and a header that is one object with an
/// `alg` and without `crit`. Do not trust the header before a key from a trusted source accepts the signature.
package struct CompactJWS: Sendable {
  package let header: JSON
  /// The `alg`, to be compared exactly: names of algorithms are case-sensitive.
  package let algorithm: String
  package let payload: [UInt8]
  /// The signed bytes: header, dot and payload as they came.
  package let signingInput: [UInt8]
  package let signature: [UInt8]

  package init(_ text: [UInt8], byteCountMax: Int = 256 * 1024) throws(JWSError) {
    let segments = try JWSSegments(text, byteCountMax: byteCountMax)
    (header, algorithm) = try segments.readHeader()
    payload = segments.payload
    signingInput = segments.signingInput
    signature = segments.signature
  }

  /// The text of a new JWS, for our own tokens and for tests.
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

/// Why a text is not a compact JWS that can be verified. It never quotes the text.
package enum JWSError: Error, Hashable, Sendable {
  case tooLong
  case malformed(String)
  /// The header requires extensions to be understood.
  case critical
}
