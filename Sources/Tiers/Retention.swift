package import Base

/// For how long an account's replaced contents and deleted files are kept.
///
/// A plan that ended keeps what it kept then for some more days, so that a failed card or a cancelled subscription
/// deletes nothing at once. It does not count for what is replaced or deleted after its end.
package struct Retention: Hashable, Sendable {
  /// Limits that applied up to, but not including, a moment.
  package struct Step: Hashable, Sendable {
    package let limits: Plan.Limits
    /// The distant future for those that apply now.
    package let end: Instant

    package init(limits: Plan.Limits, end: Instant) {
      self.limits = limits
      self.end = end
    }
  }

  private let current: Plan.Limits
  /// The latest first. Neighbours keep different things.
  private let former: [Step]
  private let formerSpan: Instant.Span

  /// `steps` are the limits of now and before, the latest first. Those before `formerSpan` ago may be missing.
  package init(_ steps: [Step], formerSpan: Instant.Span) {
    var kept: [Step] = []
    for step in steps.reversed() {
      // A plan or a catalogue may begin before the one that it follows, if the clock was set back. Then it ends with
      // that one at the earliest, so that nothing is deleted sooner.
      let end = max(step.end, kept.last?.end ?? step.end)
      if let last = kept.last, last.limits.keepsSame(as: step.limits) { kept.removeLast() }
      kept.append(Step(limits: step.limits, end: end))
    }
    current = kept.popLast()?.limits ?? Plan.Limits()
    former = kept.reversed()
    self.formerSpan = formerSpan
  }

  /// Nothing is kept.
  package static let none = Retention([], formerSpan: .seconds(0))

  /// When a content that was replaced at a moment is deleted, if no other plan follows.
  package func end(ofReplaced moment: Instant) -> Instant { end(of: moment, \.historySpan) }

  /// When a file that was deleted at a moment is purged from the trash, if no other plan follows.
  package func end(ofDeleted moment: Instant) -> Instant { end(of: moment, \.trashSpan) }

  private func end(of moment: Instant, _ span: (Plan.Limits) -> Instant.Span?) -> Instant {
    former.filter { moment < $0.end }.reduce(moment + (span(current) ?? .seconds(0))) { end, step in
      max(end, min(moment + (span(step.limits) ?? .seconds(0)), step.end + formerSpan))
    }
  }

  /// The most versions of one document, of which the last was replaced at a moment; nil: any number.
  package func versionCountMax(replaced moment: Instant, at now: Instant) -> Int64? {
    let counting = former.filter { moment < $0.end && now < $0.end + formerSpan }
    let counts = ([current] + counting.map(\.limits)).map { limits in
      limits.historySpan == nil ? 0 : limits.historyVersionCount ?? .max
    }
    return counts.max().flatMap { $0 == .max ? nil : $0 }
  }

  /// All of time, in pieces in which what happened earlier also ends earlier. Ascending, divided by the ends of plans.
  package var eras: [Range<Instant>] {
    let ends = [.distantPast] + former.map(\.end).reversed() + [.distantFuture]
    return zip(ends, ends.dropFirst()).map { $0..<$1 }
  }
}

extension Plan.Limits {
  /// The longest time that a catalogue's number of days stands for, so that no sum overflows.
  package static let daysMax: Int64 = 36_500

  /// How long replaced contents are kept; nil if they are not.
  package var historySpan: Instant.Span? {
    guard let historyDays, historyDays > 0, historyVersionCount != 0 else { return nil }
    return .days(min(historyDays, Self.daysMax))
  }

  /// How long deleted files are kept in the trash; nil if they are not.
  package var trashSpan: Instant.Span? {
    guard let trashDays, trashDays > 0 else { return nil }
    return .days(min(trashDays, Self.daysMax))
  }

  fileprivate func keepsSame(as other: Plan.Limits) -> Bool {
    historySpan == other.historySpan && trashSpan == other.trashSpan
      && historyVersionCount == other.historyVersionCount
  }
}
