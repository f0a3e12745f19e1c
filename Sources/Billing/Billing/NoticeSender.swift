import Answers
import Base
import Configuration
import Crypto
import JSON
import Jobs
import Ledger
import ProviderAPI
import Storage
import Tiers

/// Notifies an app's server whenever the answer of `GET /v1/subscription` has changed.
///
/// By Standard Webhooks 1.0.0 (https://www.standardwebhooks.com): a notice keeps its id and its body, is
/// signed for each attempt, and is retried by a ladder. Notices of one account come in order.
struct NoticeSender: Sendable {
  let receiver: WebhookReceiver
  let ledger: Ledger
  let database: Database
  let clock: Clock
  let transport: any ProviderTransport

  /// The wait after each failed attempt. After the last one there is no further attempt.
  static let ladder: [Instant.Span] = [
    .seconds(5), .seconds(300), .seconds(1800), .hours(2), .hours(5), .hours(10), .hours(14),
    .hours(20), .hours(24),
  ]

  /// How often to check whether a receiver that refused further notices gets them again.
  private static let disabledSpan = Instant.Span.hours(1)

  var handler: JobHandler {
    JobHandler(Notices.job, concurrencyMax: 4) { lease throws(JobFailure) in try run(lease) }
  }

  private enum Step: Sendable {
    case send(NoticeRow)
    case add(String, after: NoticeRow?)
    /// Nothing to do now; nil: until something is reported about the account.
    case wait(until: Instant?)
  }

  private func run(_ lease: Lease) throws(JobFailure) -> JobResult {
    guard let account = Identifier(lease.object) else { throw .refused("is no account's id") }
    let now = clock.now()
    let step = try JobFailure.reading(database) { try next(of: account, at: now, reading: $0) }
    switch step {
    case .send(let notice): return try send(notice)
    case .add(let body, let last):
      return result(again: now, of: account) { transaction in
        try NoticeRow.add(body, of: account, after: last, at: now, in: transaction)
      }
    case .wait(let moment): return result(again: moment, of: account) { _ in }
    }
  }

  private func next(
    of account: Identifier, at now: Instant, reading reader: Reader
  ) throws -> Step {
    if try Notices.receiver(reading: reader)?.disabled != nil {
      return .wait(until: now + Self.disabledSpan)
    }
    if let waiting = try NoticeRow.waiting(for: account, reading: reader), let due = waiting.due {
      return due <= now ? .send(waiting) : .wait(until: due)
    }
    let overview = try ledger.overview(of: account, at: now, reading: reader)
    let body = String(decoding: overview.json.encoded(), as: UTF8.self)
    let last = try NoticeRow.last(of: account, reading: reader)
    // An account that never had anything needs no notice.
    let hadSomething =
      !overview.subscriptions.isEmpty || overview.current.reason != .neverSubscribed
    let isNews = last.map { $0.body != body } ?? hadSomething
    return isNews ? .add(body, after: last) : .wait(until: overview.nextChange)
  }

  private func send(_ notice: NoticeRow) throws(JobFailure) -> JobResult {
    let sent = clock.now()
    let failure: APIFailure?
    do {
      _ = try transport.send(receiver.request(notice.id, notice.body, at: sent)).successful()
      failure = nil
    } catch {
      failure = error
    }
    let now = clock.now()
    guard let failure else {
      return result(again: now, of: notice.account) { transaction in
        try notice.arrived(at: now, in: transaction)
      }
    }
    Log.warning("billing.notice_failed", ["notice": notice.id, "reason": "\(failure)"])
    if failure == .gone {
      Log.error("billing.notices_disabled", ["reason": "the receiver answers 410"])
      return result(again: now + Self.disabledSpan, of: notice.account) { transaction in
        try Notices.setDisabled(now, in: transaction)
      }
    }
    let next = Self.next(after: notice, failure, at: now)
    return result(again: next ?? now, of: notice.account) { transaction in
      try notice.failed("\(failure)", next: next, in: transaction)
    }
  }

  /// The time of the next attempt: by the ladder, or later if the receiver asks for it, a day at most.
  private static func next(
    after notice: NoticeRow, _ failure: APIFailure, at now: Instant
  ) -> Instant? {
    guard notice.attempts < ladder.count else { return nil }
    var span = ladder[Int(notice.attempts)]
    if case .transient(_, let retryAfter?) = failure { span = max(span, min(retryAfter, .days(1))) }
    return now + span
  }

  private func result(
    again moment: Instant?, of account: Identifier,
    _ writes: @escaping @Sendable (Transaction) throws -> Void
  ) -> JobResult {
    JobResult { transaction in
      try writes(transaction)
      if let moment { try Notices.request(account, at: moment, in: transaction) }
    }
  }
}

extension WebhookReceiver {
  /// Distinguishes addresses without revealing them.
  var urlDigest: String { Hex.encode(SHA256.hash(Array(url.utf8)).prefix(8)) }
}
