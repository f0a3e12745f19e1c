import Base

/// Why the database did not do what was requested. None of the texts holds a value or a secret.
///
/// A refusal that a transaction's body throws is not one of these: it reaches the caller as it was thrown.
package enum DatabaseError: Error, Equatable, Sendable {
  /// Too much work is waiting. Nothing was done; the same request may succeed later.
  case busy(retryAfterSeconds: Int)
  /// The disk is full, the file is locked, the connection is lost. Nothing was done; trying later makes sense.
  case unavailable(reason: String)
  /// The connection was lost, or the disk failed, during the commit. It may have happened, or still happen.
  case uncertain(reason: String)
  /// The Unix user, or the role at the database's server, lacks the permission. An operator must change that.
  case forbidden(String)
  /// A CHECK, UNIQUE, NOT NULL or foreign key of the schema was violated.
  case constraint(String)
  /// A wrong statement or a wrong type: a bug of ours, never the caller's fault.
  case statement(String)
  /// This program cannot run on the schema: what is wrong, and the remedy if it is known. Trying again does not help.
  case migration(String, remedy: String = "")
}

extension DatabaseError {
  /// For a file or directory that belongs to another Unix user.
  static func withoutRight(to act: String, _ path: String) -> DatabaseError {
    .forbidden(
      "the Unix user \(UnixUser.name) may not \(act) \(path); become the one of the servers, as "
        + "sudo -u coffer does")
  }

  /// For a database that lost one of its schemas. A new one would hide that accounts, or payments, are gone.
  static func half(of place: String, without lost: Schema) -> DatabaseError {
    .migration(
      "half of \(place) is lost: \(lost) is missing or empty, and \(lost.other) is not",
      remedy: "restore both from one backup")
  }
}

extension DatabaseError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .busy(let seconds): "the database has too much to do; try again in \(seconds) s"
    case .unavailable(let reason), .uncertain(let reason):
      "the database is not available: \(reason)"
    case .forbidden(let problem): "the database cannot be used: \(problem)"
    case .constraint(let rule): "the database refused the change: \(rule)"
    case .statement(let problem): "a statement is wrong: \(problem)"
    case .migration(let problem, let remedy):
      remedy.isEmpty ? problem : "\(problem); \(remedy)"
    }
  }
}

extension Error {
  /// Whether the database itself is the cause, so that other requests fail as well.
  package var isOfDatabase: Bool {
    switch self as? DatabaseError {
    case .busy, .unavailable, .uncertain, .forbidden, .migration: true
    case .constraint, .statement, nil: false
    }
  }
}

/// An engine's own error. Transaction bodies never see one, only the `DatabaseError` that it means.
package protocol EngineError: Error {
  var databaseError: DatabaseError { get }
  /// The engine's own message, for operators.
  var message: String { get }
}

/// The error that a write's body throws if the data that it decided on changed before its locks were held.
/// The body runs again, a bounded number of times; after that callers get `DatabaseError.busy`.
///
/// For PostgreSQL. SQLite has one writer, so nothing changes in between.
package struct OutdatedDecision: Error {
  package init() {}
}
