import JSON

extension Report {
  /// The report for programs: integers in small enough units.
  var json: String {
    let value: JSONValue = [
      "subject": .string(subject.rawValue),
      "machine": .object(facts.map { .init($0.name, .string($0.value)) }),
      "servers": .array(rows.map(Self.json)),
      "timings": .array(timings.map(\.json)),
      "costs": .array(costs.map(\.json)),
      "answers": .array(answers.map(\.json)),
      "figures": .array(figures.map(\.json)),
      "failures": .array(failures.map { .string($0) }),
      "notes": .array(notes.map { .string($0) }),
      "whole": .bool(isWhole),
    ]
    return String(decoding: value.encoded(), as: UTF8.self)
  }

  private static func json(_ row: Row) -> JSONValue {
    let outcome = row.outcome
    return [
      "server": .string(row.server),
      "timed_count": .integer(Int64(outcome.timedCount)),
      "timed_milliseconds": .integer(Int64(outcome.timedSeconds * 1000)),
      "per_second": .integer(Int64(outcome.perSecond.rounded())),
      "p50_microseconds": .integer(Int64(outcome.microseconds(share: 0.5))),
      "p99_microseconds": .integer(Int64(outcome.microseconds(share: 0.99))),
      "max_microseconds": .integer(Int64(outcome.microseconds(share: 1))),
      "server_processor_nanoseconds_each": .integer(
        Int64(outcome.serverMicrosecondsEach * 1000)),
      "generator_processor_nanoseconds_each": .integer(
        Int64(outcome.generatorMicrosecondsEach * 1000)),
      "succeeded_count": .integer(Int64(outcome.succeeded)),
      "refused_count": .integer(Int64(outcome.refusedCount)),
      "stored_count": row.storedCount.map { .integer(Int64($0)) } ?? nil,
      "whole": .bool(row.isWhole),
    ]
  }
}
