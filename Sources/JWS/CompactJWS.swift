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

  /// How many bytes a header may have: three certificates in base64 are about 5,000.
  private static let headerByteCountMax = 32 * 1024

  package init(_ text: [UInt8], byteCountMax: Int = 256 * 1024) throws(JWSError) {
    guard text.count <= byteCountMax else { throw .tooLong }
    let dot = UInt8(ascii: ".")
    let segments = text.split(separator: dot, maxSplits: 3, omittingEmptySubsequences: false)
    guard segments.count == 3 else { throw .malformed("three segments are needed") }
    guard segments[0].count <= Self.headerByteCountMax else { throw .tooLong }
    header = try Self.header(segments[0])
    algorithm = try Self.algorithm(header)
    guard let payload = Base64.url.decode(segments[1]) else {
      throw .malformed("the payload is not base64url")
    }
    guard let signature = Base64.url.decode(segments[2]), !signature.isEmpty else {
      throw .malformed("the signature is not base64url")
    }
    self.payload = payload
    self.signature = signature
    signingInput = Array(text[..<segments[1].endIndex])
  }

  private static func header(_ segment: ArraySlice<UInt8>) throws(JWSError) -> JSON {
    guard let bytes = Base64.url.decode(segment) else {
      throw .malformed("the header is not base64url")
    }
    guard let json = try? JSON.parse(bytes, limits: headerLimits), json.isObject else {
      throw .malformed("the header is no JSON object")
    }
    return json
  }

  private static func algorithm(_ header: JSON) throws(JWSError) -> String {
    // Whoever does not understand what it lists must refuse (section 4.1.11), and we know none.
    guard !header["crit"].exists else { throw .critical }
    guard let algorithm = header["alg"].string else { throw .malformed("the header has no alg") }
    return algorithm
  }

  private static let headerLimits = JSONLimits(
    byteCountMax: headerByteCountMax, depthMax: 8, valueCountMax: 256)

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
