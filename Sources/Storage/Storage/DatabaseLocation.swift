package import Base

/// The location of the database: a directory of SQLite files, or a PostgreSQL server.
package enum DatabaseLocation: Sendable {
  case sqlite(directory: String)
  /// The URL is secret because it may hold a password.
  case postgres(url: Secret)

  /// Reads `sqlite:///directory`, `postgres://…` or `postgresql://…`; nil for anything else.
  package init?(_ url: String) {
    if url.hasPrefix("sqlite://") {
      let path = String(url.dropFirst("sqlite://".count))
      guard path.hasPrefix("/"), path.count > 1, !path.contains("\0") else { return nil }
      self = .sqlite(directory: path)
    } else if url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.contains("\0") {
      self = .postgres(url: Secret(url))
    } else {
      return nil
    }
  }
}

extension Secret {
  /// A database's URL without its passwords, for anyone to see.
  package var withoutPassword: String {
    let text = String(decoding: exposed, as: UTF8.self)
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var shown = String(parts[0])
    if let scheme = shown.firstRange(of: "://"),
      let end = shown[scheme.upperBound...].lastIndex(of: "@"),
      let colon = shown[scheme.upperBound..<end].firstIndex(of: ":")
    {
      shown.removeSubrange(colon..<end)
    }
    let members = parts.dropFirst().first?.split(separator: "&") ?? []
    let kept = members.filter { !$0.hasPrefix("password=") && !$0.hasPrefix("sslpassword=") }
    return kept.isEmpty ? shown : shown + "?" + kept.joined(separator: "&")
  }
}
