import Base

/// A parsed `Stripe-Signature` header: when the delivery was signed, and the claimed codes.
///
/// Grammar: `t=<seconds>,v1=<64 hex digits>,…` (https://docs.stripe.com/webhooks#verify-manually).
/// Unknown schemes, including `v0`, are ignored; otherwise a forger could downgrade to one.
struct SignatureHeader: Equatable {
  let signedAt: Instant
  /// The digits as received, which are what was signed.
  let signedAtDigits: [UInt8]
  /// Every well-formed `v1`, decoded; never empty.
  let codes: [[UInt8]]

  /// Room for about fifty codes; Stripe sends one for each active secret.
  static let byteCountMax = 4096
  private static let timestampDigitCountMax = 11
  private static let codeByteCount = 32

  init(_ text: [UInt8]) throws(SignatureRefusal) {
    guard text.count <= Self.byteCountMax else { throw .malformed }
    var digits: [UInt8]?
    var codes: [[UInt8]] = []
    for element in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
      let parts = element.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw .malformed }
      if parts[0].elementsEqual("t".utf8) {
        guard digits == nil else { throw .duplicateTimestamp }
        digits = Array(parts[1])
      } else if parts[0].elementsEqual("v1".utf8) {
        // A malformed code cannot match. Stripe's own libraries skip it, too.
        if let code = Hex.decode(parts[1]), code.count == Self.codeByteCount {
          codes.append(code)
        }
      }
    }
    guard let digits else { throw .noTimestamp }
    guard (1...Self.timestampDigitCountMax).contains(digits.count),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let seconds = Int64(String(decoding: digits, as: UTF8.self))
    else { throw .malformed }
    guard !codes.isEmpty else { throw .noSignature }
    signedAt = Instant(seconds: seconds)
    signedAtDigits = digits
    self.codes = codes
  }
}

/// Why a delivery does not prove that Stripe sent it.
package enum SignatureRefusal: String, Error, Hashable, Sendable, CaseIterable {
  case missingHeader = "missing-header"
  /// Too long, an element that is not one `key=value`, or a time that is not a number.
  case malformed
  case noTimestamp = "no-timestamp"
  case duplicateTimestamp = "duplicate-timestamp"
  /// There is no well-formed `v1`.
  case noSignature = "no-signature"
  case tooOld = "too-old"
  case inFuture = "in-future"
  /// No code matches any configured secret.
  case mismatch
}
