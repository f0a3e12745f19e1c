extension Parser where Value == [String] {
  /// Host names in lower case, each with or without a port.
  static var authorities: Parser {
    .list { (text, _) throws(ParseFailure) in
      guard isAuthority(text) else {
        throw ParseFailure("\(quoted(text)) is not a host name, e.g. sync.example.com:8443")
      }
      return text.lowercased()
    }
  }

  /// Web origins as browsers write them: scheme and host, and a port unless it is the scheme's default.
  package static var origins: Parser {
    .list { (text, _) throws(ParseFailure) in
      let parts = text.split(separator: "://", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, isScheme(parts[0]), isAuthority(String(parts[1])),
        text == text.lowercased()
      else {
        throw ParseFailure("\(quoted(text)) is not an origin, e.g. https://app.example.com")
      }
      let (scheme, authority) = (parts[0], parts[1])
      for (other, port) in [("https", ":443"), ("http", ":80")]
      where scheme == other && authority.hasSuffix(port) {
        throw ParseFailure("\(quoted(text)) names its scheme's own port, which browsers leave out")
      }
      let host = authority.hasSuffix("]") ? authority : authority.prefix { $0 != ":" }
      guard
        scheme != "http" || ["localhost", "127.0.0.1"].contains(host)
          || authority.hasPrefix("[::1]")
      else {
        throw ParseFailure("\(quoted(text)) is plain http, which only this machine's pages may be")
      }
      return text
    }
  }

  private static func isScheme(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first else {
      return false
    }
    return text.utf8.allSatisfy(Set("abcdefghijklmnopqrstuvwxyz0123456789+-.".utf8).contains)
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
