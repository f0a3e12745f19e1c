import CCurl

/// The scheme and host of a URL as libcurl parses it. However the text may look, libcurl connects to this host.
package struct WebAddress: Equatable, Sendable {
  package let scheme: String
  /// In lower case; an IPv4 address as four decimal numbers, an IPv6 address in brackets.
  package let host: String

  /// Nil unless it is an http or https URL without a user, a query or a fragment.
  package init?(_ url: String) {
    guard url.utf8.allSatisfy({ 0x21...0x7E ~= $0 }), let handle = unsafe curl_url() else {
      return nil
    }
    defer { unsafe curl_url_cleanup(handle) }
    guard unsafe curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK else { return nil }
    let absent = [
      CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT,
      CURLUPART_ZONEID,
    ]
    guard absent.allSatisfy({ unsafe Self.part($0, of: handle) == nil }),
      let scheme = unsafe Self.part(CURLUPART_SCHEME, of: handle),
      let host = unsafe Self.part(CURLUPART_HOST, of: handle), !host.isEmpty
    else { return nil }
    self.scheme = scheme.lowercased()
    self.host = host.lowercased()
    guard self.scheme == "https" || self.scheme == "http" else { return nil }
  }

  /// Whether no one on the way can read or change what is sent there: TLS, or this machine itself.
  package var isPrivate: Bool {
    scheme == "https" || ["127.0.0.1", "localhost", "[::1]"].contains(host)
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard unsafe curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text = unsafe text else {
      return nil
    }
    defer { unsafe curl_free(text) }
    return unsafe String(cString: text)
  }
}
