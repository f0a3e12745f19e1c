// Its normal forms of Unicode are at hand only so.
@_spi(_Unicode) internal import Swift

package import Subscriptions

/// A text by which somebody may look for an object that has another name: an invoice's number, the
/// e-mail address of who paid.
package struct SearchTerm: Hashable, Sendable {
  package let object: ObjectKey
  /// In its normal form.
  package let text: String
  /// Whether it is about a person: then nothing but a code of it under a key is kept.
  package let isPersonal: Bool

  private static let byteCountMax = 320

  /// Nil for what nobody would look for: nothing, or a text longer than any address may be.
  package init?(_ text: String?, of object: ObjectKey, isPersonal: Bool = false) {
    let text = Self.normalized(text ?? "")
    guard (1...Self.byteCountMax).contains(text.utf8.count) else { return nil }
    self.object = object
    self.text = text
    self.isPersonal = isPersonal
  }

  /// Without case, without space at its ends or more than one between its words, and each letter with
  /// its marks in one (NFC): some systems take them apart.
  package static func normalized(_ text: String) -> String {
    var composed = String.UnicodeScalarView()
    composed.append(contentsOf: text.lowercased()._nfc)
    return String(composed).split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}
