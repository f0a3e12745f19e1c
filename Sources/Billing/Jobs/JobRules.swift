package import Base
import Crypto

/// How long jobs wait and when they are dead.
package enum JobRules {
  /// A reader that is not back within this time counts as crashed. It is longer than any read takes.
  package static let leaseTime = Instant.Span.minutes(2)
  /// The time from a settling read to the one that confirms it, after replicas have caught up.
  package static let confirmationDelay = Instant.Span.minutes(1)
  /// What is requested of a job while it runs, and a failed job, wait at least this long: no job can keep a
  /// thread busy.
  package static let pauseMin = Instant.Span.milliseconds(500)
  /// The longest wait after the first failure; it doubles with each further one.
  package static let backoffBase = Instant.Span.seconds(1)
  package static let backoffMax = Instant.Span.minutes(15)
  /// The longest wait that a provider can impose.
  package static let retryAfterMax = Instant.Span.hours(1)
  /// After this number of refusals in a row the job is dead.
  package static let refusalCountMax: Int64 = 20

  static let errorByteCountMax = 300

  /// Exponential backoff with full jitter: from the pause up to the longest wait of that attempt.
  static func backoff(attempt: Int64) -> Instant.Span {
    let doublings = min(max(attempt - 1, 0), 20)
    let longest = min(backoffMax.milliseconds, backoffBase.milliseconds << doublings)
    // OpenSSL's generator, because a simulation replaces it by a seed.
    var source = RandomSource()
    return .milliseconds(Int64.random(in: pauseMin.milliseconds...longest, using: &source))
  }
}
