package import Base

/// Why a run did not reach its end. The texts go to the log, the database and the operator.
package enum JobFailure: Error, Equatable, Sendable {
  /// It passes by itself, or by somebody's repair of the configuration: the job never dies of it.
  case transient(String, retryAfter: Instant.Span?)
  /// The object itself is refused; after `JobRules.refusalCountMax` of these the job is dead.
  case refused(String)

  package var reason: String {
    switch self {
    case .transient(let reason, _), .refused(let reason): reason
    }
  }
}

extension JobFailure {
  /// What `body` gives that asks the database: where it throws, that passes by itself.
  package static func wrapping<Value>(_ body: () throws -> Value) throws(JobFailure) -> Value {
    do { return try body() } catch { throw .transient("\(error)", retryAfter: nil) }
  }
}
