extension Parser where Value == [String] {
  /// Host names in lower case, each with a port or without.
  static var authorities: Parser {
    .list { (text, _) throws(ParseFailure) in
      guard isAuthority(text) else {
        throw ParseFailure("\(quoted(text)) is not a host name, e.g. sync.example.com:8443")
      }
      return text.lowercased()
    }
  }

  private static func isAuthority(_ text: String) -> Bool {
    let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]".utf8)
    guard text.lowercased().utf8.allSatisfy(allowed.contains), text.utf8.count <= 255 else {
      return false
    }
    let host: Substring
    let port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return false }
      host = text[...end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return false }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count <= 2 else { return false }
      host = parts[0]
      port = parts.count == 2 ? parts[1] : nil
    }
    if let port { guard let number = UInt16(port), number > 0 else { return false } }
    return !host.isEmpty
  }
}
