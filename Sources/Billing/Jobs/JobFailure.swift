package import Base
package import Storage

/// Why a run failed. The texts go to the log, the database and the operator.
package enum JobFailure: Error, Equatable, Sendable {
  /// The failure passes by itself, or after a repair of the configuration. The job never dies of it.
  case transient(String, retryAfter: Instant.Span?)
  /// The object itself is refused. After `JobRules.refusalCountMax` of these the job is dead.
  case refused(String)

  package var reason: String {
    switch self {
    case .transient(let reason, _), .refused(let reason): reason
    }
  }
}

extension JobFailure {
  /// Returns the result of `body`, which uses the database. Its errors pass by themselves.
  package static func wrapping<Value>(_ body: () throws -> Value) throws(JobFailure) -> Value {
    do { return try body() } catch { throw .transient("\(error)", retryAfter: nil) }
  }

  /// The same for one read.
  package static func reading<Value>(
    _ database: Database, _ body: (Reader) throws -> Value
  ) throws(JobFailure) -> Value {
    try wrapping { try database.read(body) }
  }
}
