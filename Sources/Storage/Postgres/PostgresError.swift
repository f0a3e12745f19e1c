/// An error of PostgreSQL, or of the connection to it.
///
/// `message` is the server's primary message, without its detail, which would quote values. Texts
/// about connecting are this module's own: libpq's contain host, user and parts of the URL.
package struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// The SQLSTATE (https://www.postgresql.org/docs/15/errcodes-appendix.html); "" if there is none.
  package let code: String
  package let message: String
  /// The constraint that was violated.
  package let constraint: String?
  /// Whether the connection can no longer be used.
  package let isConnectionLost: Bool

  init(code: String, message: String, constraint: String? = nil, isConnectionLost: Bool = false) {
    self.code = code
    self.message = message
    self.constraint = constraint
    self.isConnectionLost = isConnectionLost
  }

  static func lost(_ message: String) -> PostgresError {
    PostgresError(code: "", message: message, isConnectionLost: true)
  }

  /// A wrong call, detected before it reaches the server.
  static func misuse(_ message: String) -> PostgresError {
    PostgresError(code: "42000", message: message)
  }

  package var description: String { "PostgreSQL error \(code): \(message)" }

  package var kind: Kind {
    if isConnectionLost { return .unavailable }
    switch code {
    case "40001", "40P01": return .conflict
    case "55P03": return .locked
    case "57014": return .timedOut
    // Read-only because the server is a standby, or because a reader tried to write: the caller knows which.
    case "25006": return .readOnly
    case "42501": return .forbidden
    // Its class is connection errors, but it means that we called the server wrongly.
    case "08P01": return .misuse
    default: break
    }
    switch code.prefix(2) {
    case "23": return .constraint
    case "08", "53", "57", "58": return .unavailable
    default: return .misuse
    }
  }

  package enum Kind: Sendable {
    /// A serialization failure or a deadlock. The same transaction may succeed when repeated.
    case conflict
    case locked
    case timedOut
    case readOnly
    case forbidden
    case constraint
    case unavailable
    case misuse
  }
}
