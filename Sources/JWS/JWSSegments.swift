import Base
package import JSON

/// A compact JWS whose header is not read yet, for readers that often see the same header.
package struct JWSSegments: Sendable {
  /// The header as it came, in base64url.
  package let header: [UInt8]
  package let payload: [UInt8]
  /// The signed bytes: header, dot and payload as they came.
  package let signingInput: [UInt8]
  package let signature: [UInt8]

  /// The most bytes of a header: three certificates in base64 have about 5,000.
  private static let headerByteCountMax = 32 * 1024
  private static let headerLimits = JSONLimits(
    byteCountMax: headerByteCountMax, depthMax: 8, valueCountMax: 256)

  package init(_ text: [UInt8], byteCountMax: Int = 256 * 1024) throws(JWSError) {
    guard text.count <= byteCountMax else { throw .tooLong }
    let dot = UInt8(ascii: ".")
    guard let first = text.firstIndex(of: dot), let last = text.lastIndex(of: dot), first < last
    else { throw .malformed("three segments are needed") }
    guard first <= Self.headerByteCountMax else { throw .tooLong }
    // A fourth segment would leave a dot in the second, which is not a letter of base64url.
    guard let payload = Base64.url.decode(text[(first + 1)..<last]) else {
      throw .malformed("the payload is not base64url")
    }
    guard let signature = Base64.url.decode(text[(last + 1)...]), !signature.isEmpty else {
      throw .malformed("the signature is not base64url")
    }
    header = Array(text[..<first])
    self.payload = payload
    self.signature = signature
    signingInput = Array(text[..<last])
  }

  /// The header and its `alg`.
  package func readHeader() throws(JWSError) -> (json: JSON, algorithm: String) {
    guard let bytes = Base64.url.decode(header) else {
      throw .malformed("the header is not base64url")
    }
    guard let json = try? JSON.parseForeign(bytes, limits: Self.headerLimits), json.isObject else {
      throw .malformed("the header is no JSON object")
    }
    // A reader that does not understand the listed extensions must refuse (section 4.1.11), and we know none.
    guard !json["crit"].exists else { throw .critical }
    guard let algorithm = json["alg"].string else { throw .malformed("the header has no alg") }
    return (json, algorithm)
  }
}
