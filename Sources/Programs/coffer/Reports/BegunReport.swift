internal import Accounts
internal import Answers
internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Ledger
internal import Report
internal import Storage
internal import Sync

/// A report that is read in parts. A file holds its sums so far and the place to continue.
struct BegunReport {
  /// The subject of the report. For another subject, its sums could not be continued.
  struct Subject: Equatable {
    let month: Month
    let catalogue: String
    let environment: String
    /// The history of its database; nil if coffer-sync has never started on it.
    let database: Identifier?
  }

  let subject: Subject
  /// When its first part was read. Storage is as of that moment.
  let began: Instant
  var place = SubscriberPages.Place.start
  var report: MonthlyReport
  var storage: StorageFigures

  private let path: String
  private var next = MonotonicTime.now() + Self.pause

  private static let pause = Instant.Span.seconds(3)

  /// Continues with what the file holds, or begins if there is none.
  init(
    at path: String, _ subject: Subject, at now: Instant,
    _ storage: (Instant) -> StorageFigures
  ) throws {
    self.path = path
    self.subject = subject
    report = MonthlyReport(subject.month, at: now)
    guard OutputFile.exists(path) else {
      (began, self.storage) = (now, storage(now))
      try save()
      return
    }
    let bytes = try InputFile.bytes(at: path)
    do {
      let saved = try JSON.parse(bytes)
      try Self.check(saved, subject, path)
      began = Instant(milliseconds: try saved["began"].requireInteger())
      place = SubscriberPages.Place(
        last: saved["after"].isNull ? nil : try saved["after"].requireString(),
        readCount: try saved["read"].requireInteger())
      report = try MonthlyReport(saved: saved["report"])
      self.storage = storage(began)
      try self.storage.take(saved: saved["storage"])
      guard report.month == subject.month else { throw Self.refusal(path) }
    } catch is JSONError {
      throw Self.refusal(path)
    }
  }

  private static func refusal(_ path: String) -> CommandFailure {
    CommandFailure(.refused, "\(path) is no report that was begun")
  }

  private static func check(_ saved: JSON, _ subject: Subject, _ path: String) throws {
    let known: [(name: String, ours: String)] = [
      ("version", Version.text), ("month", subject.month.description),
      ("environment", subject.environment), ("catalogue", subject.catalogue),
      ("database", subject.database?.description ?? ""),
    ]
    for (name, ours) in known {
      let theirs = try saved[name].requireString()
      guard theirs != ours else { continue }
      throw CommandFailure(
        .refused,
        "\(path) was begun with another \(name)\(theirs.isEmpty ? "" : ", \(theirs)"): "
          + "name another file")
    }
  }

  mutating func saveIfDue() throws {
    guard next <= .now() else { return }
    try save()
    next = .now() + Self.pause
  }

  func save() throws {
    let saved: JSONValue = [
      "version": .string(Version.text), "month": .string(subject.month.description),
      "environment": .string(subject.environment), "catalogue": .string(subject.catalogue),
      "database": .string(subject.database?.description ?? ""),
      "began": .integer(began.milliseconds), "after": place.last.map { .string($0) } ?? .null,
      "read": .integer(place.readCount), "report": report.saved, "storage": storage.saved,
    ]
    try OutputFile.replace(path, with: saved.encoded())
  }
}
