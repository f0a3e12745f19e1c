package import JSON

/// The number of a payment card: only Stripe may receive it, never this server.
package enum CardNumber {
  /// Refuses a body in which a client wrote a card's number, without repeating the number. It looks at whole
  /// values and names, and anywhere in the value of a member that is named for a card. Addresses of pages and
  /// ids are exempt: they hold other numbers, one in ten of which has a valid check digit.
  package static func refuse(in body: JSON) throws(JSONError) {
    guard holds(body, isNamedForCard: false) else { return }
    throw JSONError(
      code: .wrongType,
      message: "The body contains a card number. Never send one: make a payment method (pm_…) with "
        + "Stripe's library and send its id")
  }

  private static func holds(_ json: JSON, isNamedForCard isNamed: Bool) -> Bool {
    if let members = json.members {
      return members.contains { name, value in
        isWhole(name) || holds(value, isNamedForCard: isNamed || isForCard(name))
      }
    }
    if let elements = json.array {
      return elements.contains { holds($0, isNamedForCard: isNamed) }
    }
    if let integer = json.integer { return isWhole(String(integer)) }
    guard let text = json.string, !isPageOrID(text) else { return false }
    return isNamed ? isPart(text) : isWhole(text)
  }

  /// Whether forms and payment libraries use the name for a card.
  private static func isForCard(_ name: String) -> Bool {
    let word = name.lowercased().filter { $0.isLetter }
    return ["card", "number", "payment", "creditcard", "debitcard", "pan"].contains(word)
      || word.hasPrefix("card") || word.hasPrefix("cc") || word.hasPrefix("payment")
      || word.hasSuffix("card") || word.hasSuffix("cardnumber")
  }

  /// Whether the text is the address of a page, or an id of Stripe's: letters, an underscore, then
  /// no blanks or dashes.
  private static func isPageOrID(_ text: String) -> Bool {
    if text.contains("://") { return true }
    guard let end = text.utf8.firstIndex(of: UInt8(ascii: "_")), end > text.startIndex else {
      return false
    }
    return text[..<end].utf8.allSatisfy { isLetter($0) }
      && text.utf8.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  private static func isWhole(_ text: String) -> Bool {
    text.utf8.allSatisfy { isDigit($0) || isSeparator($0) } && isPart(text)
  }

  /// Whether the text has 13 to 19 digits, ignoring separators, with a valid check digit (ISO/IEC 7812, Luhn).
  private static func isPart(_ text: String) -> Bool {
    var digits: [Int] = []
    for byte in Array(text.utf8) + [0] {
      if isDigit(byte) {
        digits.append(Int(byte - 0x30))
      } else if !isSeparator(byte) {
        if isChecked(digits) { return true }
        digits = []
      }
    }
    return false
  }

  private static func isChecked(_ digits: [Int]) -> Bool {
    guard (13...19).contains(digits.count) else { return false }
    let sum = digits.reversed().enumerated().reduce(0) { sum, place in
      guard place.offset % 2 == 1 else { return sum + place.element }
      let double = place.element * 2
      return sum + (double > 9 ? double - 9 : double)
    }
    return sum % 10 == 0
  }

  private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

  private static func isLetter(_ byte: UInt8) -> Bool { 0x61...0x7A ~= byte | 0x20 }

  private static func isSeparator(_ byte: UInt8) -> Bool { " -.".utf8.contains(byte) }
}
