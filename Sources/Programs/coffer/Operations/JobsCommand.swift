internal import Acts
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Jobs
internal import Ledger
internal import Storage

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let dead = Parameter<Bool>.flag(
    "--dead", text: "only dead jobs")
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
    answers: [
      "counts": .list([
        "kind": .text, "open": .integer, "dead": .integer, "unsettled_since": .orNull(.time),
        "earliest_due": .orNull(.time),
      ]),
      "jobs": .list([
        "kind": .text, "object": .text, "state": .text, "dead_renewal": .bool,
        "due": .orNull(.time), "unsettled_since": .orNull(.time),
        "failing_since": .orNull(.time), "lease_until": .orNull(.time), "failures": .integer,
        "refusals": .integer, "requested": .integer, "issued": .integer, "committed": .integer,
        "last_error": .orNull(.text),
      ]),
      "next": .orNull(.text),
    ],
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let (counts, page, renewing) = try database.read { reader in
          let last = try invocation[after].map { try listed($0, reader) }
          let page = ListPage(
            try Jobs.list(
              reader, limit: limit + 1, onlyDead: invocation[dead], after: last),
            limit: limit, cursor: { "\($0.kind)/\($0.object)" })
          let dead = page.rows.filter { $0.state == .dead }.map(\.object)
          return (
            try Jobs.counts(reader), page, try Ledger.renewing(dead, reading: reader)
          )
        }
        let jobs = page.rows
        let notice = page.notice(of: "jobs") {
          Int64(counts.map { $0.dead + (invocation[dead] ? 0 : $0.open) }.reduce(0, +))
        }
        return Answer(
          text: text(counts, now: now) + "\n" + text(jobs, renewing, now: now),
          json: [
            "counts": .array(counts.map(json)),
            "jobs": .array(jobs.map { json($0, isRenewing: renewing.contains($0.object)) }),
            "next": page.cursor,
          ], notice: notice)
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

  private static func text(_ counts: [JobCounts], now: Instant) -> String {
    var table = Table(("KIND", .left), ("OPEN", .right), ("DEAD", .right), ("LATE", .right))
    for count in counts {
      table.add(
        count.kind, String(count.open), String(count.dead), lateness(count.unsettledSince, now))
    }
    return table.text
  }

  private static func text(
    _ jobs: [JobSummary], _ renewing: Set<String>, now: Instant
  ) -> String {
    var table = Table(
      ("KIND", .left), ("OBJECT", .left), ("STATE", .left), ("LATE", .right), ("DUE", .left),
      ("FAILURES", .right), ("LAST ERROR", .left))
    for job in jobs {
      table.add(
        job.kind, job.object,
        job.state.rawValue + (renewing.contains(job.object) ? ", renews" : ""),
        lateness(job.unsettledSince, now),
        Terminal.time(job.due, now: now), String(job.attempts), job.lastError ?? "-",
        tint: job.state == .dead ? .bad : nil)
    }
    return table.text
  }

  /// How long ago a job was first due, in the largest unit that fits.
  private static func lateness(_ since: Instant?, _ now: Instant) -> String {
    guard let since, since < now else { return "-" }
    return SpanText.text(now - since)
  }

  private static func json(_ count: JobCounts) -> JSONValue {
    [
      "kind": .string(count.kind), "open": .integer(Int64(count.open)),
      "dead": .integer(Int64(count.dead)),
      "unsettled_since": count.unsettledSince.map { .string($0.description) } ?? .null,
      "earliest_due": count.earliestDue.map { .string($0.description) } ?? .null,
    ]
  }

  private static func json(_ job: JobSummary, isRenewing: Bool) -> JSONValue {
    [
      "kind": .string(job.kind), "object": .string(job.object),
      "state": .string(job.state.rawValue), "dead_renewal": .bool(isRenewing),
      "due": job.due.map { .string($0.description) } ?? .null,
      "unsettled_since": job.unsettledSince.map { .string($0.description) } ?? .null,
      "failing_since": job.failingSince.map { .string($0.description) } ?? .null,
      "lease_until": job.leaseUntil.map { .string($0.description) } ?? .null,
      "failures": .integer(Int64(job.attempts)), "refusals": .integer(Int64(job.refusals)),
      "requested": .integer(job.requested), "issued": .integer(job.issued),
      "committed": .integer(job.committed),
      "last_error": job.lastError.map { .string($0) } ?? .null,
    ]
  }
}
