/// A text as someone copied it: with a label before it, quotation marks around it, spaces anywhere,
/// or within the address of a dashboard's page.
package enum QuotedText {
  private static let labels: Set = [
    "acct", "account", "user", "username", "device", "key", "customer", "subscription", "invoice",
    "charge", "payment", "event", "transaction", "order", "token", "purchase", "email", "e-mail",
    "mailto", "id",
  ]

  package static func plain(_ text: String) -> String {
    var text = trimmed(text[...])
    if let colon = text.firstIndex(of: ":") {
      let rest = text[text.index(after: colon)...]
      if rest.first?.isWhitespace == true || labels.contains(text[..<colon].lowercased()) {
        text = trimmed(rest)
      }
    }
    return String(text)
  }

  /// What to look for if nothing is called `plain`, which may be a name. It is the last part of an
  /// address, without a number sign and dots around it.
  package static func bare(_ plain: String) -> String {
    var text = plain[...]
    if text.hasPrefix("https://") || text.hasPrefix("http://") {
      text = text.prefix { !"?#".contains($0) }.split(separator: "/").last ?? text
    }
    text = text.drop { ".…#".contains($0) }
    while let last = text.last, ".…".contains(last) { text.removeLast() }
    return String(text)
  }

  private static func trimmed(_ text: Substring) -> Substring {
    func isLoose(_ character: Character) -> Bool {
      character.isWhitespace || "\"'`<>()[],;".contains(character)
    }
    var text = text.drop(while: isLoose)
    while let last = text.last, isLoose(last) { text.removeLast() }
    return text
  }
}
