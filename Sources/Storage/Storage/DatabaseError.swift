internal import Base

/// Why the database did not do what it was asked; none of the texts holds a value or a secret.
///
/// A refusal that a transaction's body throws (over the cap, name taken) is not one of these: it
/// reaches the caller as it was thrown.
package enum DatabaseError: Error, Equatable, Sendable {
  /// Too much work is waiting. Nothing was done; the same request may succeed later.
  case busy(retryAfterSeconds: Int)
  /// The disk is full, the file is locked, the connection is lost. Trying later makes sense.
  case unavailable(reason: String)
  /// The Unix user, or the role at the database's server, may not do it: for an operator to change.
  case forbidden(String)
  /// A CHECK, UNIQUE, NOT NULL or foreign key of the schema said no.
  case constraint(String)
  /// A wrong statement or a wrong type: a bug of ours, never the caller's fault.
  case statement(String)
  /// The schema is not what this program can run on: what is wrong, and what to do where that is known.
  /// Trying again does not help.
  case migration(String, remedy: String = "")
}

extension DatabaseError {
  /// Of a file, or directory, that another Unix user has.
  static func withoutRight(to act: String, _ path: String) -> DatabaseError {
    .forbidden(
      "the Unix user \(UnixUser.name) may not \(act) \(path); become the one of the servers, as "
        + "sudo -u coffer does")
  }

  /// Of a database in use that lost one of its schemas: a new one in its place would hide that accounts,
  /// or all that they paid, are gone.
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
    case .unavailable(let reason): "the database is not available: \(reason)"
    case .forbidden(let problem): "the database cannot be used: \(problem)"
    case .constraint(let rule): "the database refused the change: \(rule)"
    case .statement(let problem): "a statement is wrong: \(problem)"
    case .migration(let problem, let remedy):
      remedy.isEmpty ? problem : "\(problem); \(remedy)"
    }
  }
}

extension Error {
  /// Whether the database took nothing, whatever it was given. Everything else is the fault of what it was
  /// given, and others may succeed where that one fails.
  package var isOfDatabase: Bool {
    switch self as? DatabaseError {
    case .busy, .unavailable, .forbidden, .migration: true
    case .constraint, .statement, nil: false
    }
  }
}

/// An engine's own error; bodies never see one, only the `DatabaseError` it means.
package protocol EngineError: Error {
  var databaseError: DatabaseError { get }
  /// In the engine's own words, for operators.
  var message: String { get }
}

/// What a write was decided by changed before its locks were held: its body throws this to be run
/// again, a bounded number of times, after which callers get `DatabaseError.busy`.
///
/// For PostgreSQL. SQLite has one writer, so nothing changes beside it.
package struct OutdatedDecision: Error {
  package init() {}
}
