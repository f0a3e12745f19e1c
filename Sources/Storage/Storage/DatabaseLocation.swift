package import Base

/// The location of the database: a directory of SQLite files, or a PostgreSQL server.
package enum DatabaseLocation: Sendable {
  case sqlite(directory: String)
  /// The URL is secret because it may hold a password.
  case postgres(url: Secret)

  /// Reads `sqlite:///directory`, `postgres://…` or `postgresql://…`; nil for anything else.
  package init?(_ url: String) {
    if let path = url.removing(prefix: "sqlite://") {
      guard path.hasPrefix("/"), path.count > 1, !path.contains("\0") else { return nil }
      self = .sqlite(directory: path)
    } else if url.hasPrefix("postgres://") || url.hasPrefix("postgresql://"), !url.contains("\0") {
      self = .postgres(url: Secret(url))
    } else {
      return nil
    }
  }
}

extension String {
  fileprivate func removing(prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
