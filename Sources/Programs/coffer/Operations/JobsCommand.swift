import Acts
import Base
import CommandLine
import Configuration
import JSON
import Jobs
import Ledger
import Storage

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let dead = Parameter<Bool>.flag("--dead", text: "only dead jobs")
  private static let after = Parameter<String?>.optional(
    "--after", "job", text: "start after this job (see the previous page's last line)", .text)
  private static let kind = Parameter<String>.required(
    "kind", text: "as in coffer jobs list", .text)
  private static let object = Parameter<String?>.optional(
    "--object", "object",
    text: "job, as in coffer jobs list (default: every dead job of the kind)", .text)

  static let jobsList = Command(
    words: ["jobs", "list"],
    abstract: "List objects to be read from the stores, failed first",
    discussion: """
      A job is one object to read from its store. It is waiting, running or dead. A dead job was refused \
      so often that only coffer jobs retry, or news of the object, starts it again. A job that fails \
      because the store is down never dies: it waits longer each time, at most 15 minutes unless the store \
      asks for more.

      LATE is the time since it was first due; DUE is the next attempt. "dead, renews" is a subscription \
      that would renew: its access ends although it may be paid.
      """,
    examples: ["coffer jobs list --dead"],
    options: [limit, dead, after],
    answers: jobs.shape.adding([counts.memberShape]),
    run: { invocation in
      try DatabaseSession.read(invocation, owning: .billing) { reader, now in
        let last = try invocation[after].map { try listed($0, reader) }
        let page = try jobs.page(invocation, by: { "\($0.kind)/\($0.object)" }) {
          try Jobs.list(reader, limit: $0, onlyDead: invocation[dead], after: last)
        }
        let renewing = try Ledger.renewing(
          page.rows.filter { $0.state == .dead }.map(\.object), reading: reader)
        let sums = try Jobs.counts(reader)
        let notice = page.notice {
          Int64(sums.map { $0.dead + (invocation[dead] ? 0 : $0.open) }.reduce(0, +))
        }
        return jobs.answer(
          page.map { (job: $0, isRenewing: renewing.contains($0.object)) }, at: now, notice: notice
        ).adding([counts.member(sums)], heading: counts.text(sums, at: now) + "\n")
      }
    })

  /// The job that a page ended with: `kind/object`.
  private static func listed(_ name: String, _ reader: Reader) throws -> JobSummary {
    let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
    guard parts.count == 2 else {
      throw CommandFailure(
        .usage, "--after takes <kind>/<object>: see the previous page's last line")
    }
    guard let job = try Jobs.find(parts[0], parts[1], reading: reader) else {
      throw CommandFailure(.refused, "there is no job \(parts[1]) of the kind \(parts[0])")
    }
    guard job.state != .settled else {
      throw CommandFailure(.refused, "\(name) is settled by now; start again, or after another job")
    }
    return job
  }

  static let jobsRetry = Command(
    words: ["jobs", "retry"],
    abstract: "Run one job now, or all dead jobs of a kind",
    discussion: """
      A job that you name runs at once, even if it waits or has finished. A running coffer-billing starts \
      it within a second.
      """,
    examples: [
      "coffer jobs retry read",
      "coffer jobs retry read --object stripe:live:subscription:sub_1Qx8y",
    ],
    arguments: [kind],
    options: [object] + Act.handyOptions,
    answers: Act.handyAnswers(["retried": .integer]),
    run: { invocation in
      let kind = invocation[kind]
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let act = try Act(invocation, on: database)
        if let object = invocation[object] {
          return try act.atOnce(at: now) { transaction in
            guard try Jobs.revive(kind, object, now: now, in: transaction) else {
              throw CommandFailure(.refused, "there is no job \(object) of the kind \(kind)")
            }
            return retried(1, "\(kind) \(object)")
          }
        }
        guard try database.read({ try Jobs.knows(kind, reading: $0) }) else {
          throw CommandFailure(.refused, "there has never been a job of the kind \(kind)")
        }
        let answer = try act.atOnce(at: now) { transaction in
          let count = try Jobs.deadCount(kind, reading: transaction)
          _ = try Jobs.reviveDead(kind, limit: slice, now: now, in: transaction)
          return retried(count, kind)
        }
        // In slices, so that coffer-billing's own writes are not held up.
        var count = slice
        while count == slice {
          count = try database.write(for: nil) { transaction in
            try Jobs.reviveDead(kind, limit: slice, now: now, in: transaction)
          }
        }
        return answer
      }
    })

  private static func retried(_ count: Int, _ subject: String) -> Act.Effect {
    Act.Effect(
      subject: subject, before: .object([]), after: ["retried": .integer(Int64(count))],
      text: count == 1 ? "1 job is due now\n" : "\(count) jobs are due now\n",
      members: [.init("retried", .integer(Int64(count)))])
  }

  private static let slice = 500

  private static var counts: Listing<JobCounts> {
    Listing(
      "counts",
      [
        .text("kind", "KIND") { $0.kind }, .integer("open", "OPEN") { Int64($0.open) },
        .integer("dead", "DEAD") { Int64($0.dead) }, late(\.unsettledSince),
        .optionalTime("earliest_due") { $0.earliestDue },
      ])
  }

  private static var jobs: Listing<(job: JobSummary, isRenewing: Bool)> {
    Listing(
      "jobs",
      [
        .text("kind", "KIND") { $0.job.kind }, .text("object", "OBJECT") { $0.job.object },
        Column(
          "state", .text, "STATE", json: { .string($0.job.state.rawValue) },
          cell: { row, _ in row.job.state.rawValue + (row.isRenewing ? ", renews" : "") }),
        .bool("dead_renewal") { $0.isRenewing }, late(\.job.unsettledSince),
        .optionalTime("due", "DUE") { $0.job.due },
        .optionalTime("failing_since") { $0.job.failingSince },
        .optionalTime("lease_until") { $0.job.leaseUntil },
        .integer("failures", "FAILURES") { Int64($0.job.attempts) },
        .integer("refusals") { Int64($0.job.refusals) },
        .integer("requested") { $0.job.requested }, .integer("issued") { $0.job.issued },
        .integer("committed") { $0.job.committed },
        .optionalText("last_error", "LAST ERROR") { $0.job.lastError },
      ], tint: { $0.job.state == .dead ? .bad : nil })
  }

  /// The time since a job was first due, in the largest unit that fits.
  private static func late<Row>(_ since: KeyPath<Row, Instant?>) -> Column<Row> {
    Column(
      "unsettled_since", .orNull(.time), "LATE", .right,
      json: { $0[keyPath: since].map { .string($0.description) } ?? .null },
      cell: { row, now in
        guard let since = row[keyPath: since], since < now else { return "-" }
        return SpanText.text(now - since)
      })
  }
}
