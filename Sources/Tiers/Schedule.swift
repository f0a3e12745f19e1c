package import Base

/// An account's cap over all time, in steps from boundary to boundary. Time only selects a step; nothing has to end it.
///
/// Billing derives and stores it; sync looks up `now`. So a boundary needs no job.
package struct Schedule: Hashable, Sendable {
  /// Ascending. The first begins at `.distantPast`; neighbours differ in more than their start.
  package let boundaries: [Boundary]

  /// The cap, plan and reason from this moment to the next boundary.
  package struct Boundary: Hashable, Sendable {
    package let from: Instant
    package let capByteCount: Int64
    package let planID: String
    package let reason: CapReason

    package init(from: Instant, capByteCount: Int64, planID: String, reason: CapReason) {
      self.from = from
      self.capByteCount = capByteCount
      self.planID = planID
      self.reason = reason
    }

    /// Whether they differ only in their start.
    package func holdsAs(_ other: Boundary) -> Bool {
      capByteCount == other.capByteCount && planID == other.planID && reason == other.reason
    }
  }

  /// A plan owed from `from` up to but not including `to`.
  package struct Owed: Hashable, Sendable {
    /// The subscription or grant of the account that owes the plan; each adds a plan once.
    package let giver: Int
    package let plan: Plan
    package let from: Instant
    package let to: Instant
    package let reason: CapReason

    package init(giver: Int, plan: Plan, from: Instant, to: Instant, reason: CapReason) {
      self.giver = giver
      self.plan = plan
      self.from = from
      self.to = to
      self.reason = reason
    }
  }

  /// The reason why one subscription owes nothing more from `at` on.
  package struct Ending: Hashable, Sendable {
    package let at: Instant
    package let reason: CapReason

    package init(at: Instant, reason: CapReason) {
      self.at = at
      self.reason = reason
    }
  }

  /// At every moment the schedule has the largest plan owed, or the free plan if none is, and the plans that add to it.
  ///
  /// If nothing is owed, the reason is that of the latest ending, and `never_subscribed` before the first.
  package init(owed: [Owed], endings: [Ending], catalogue: Catalogue) {
    let owed = owed.filter { $0.from < $0.to }
    var moments: [Instant] = [.distantPast]
    for interval in owed { moments += [interval.from, interval.to] }
    for ending in endings { moments.append(ending.at) }
    var boundaries: [Boundary] = []
    for moment in moments.sorted() where moment < .distantFuture {
      if moment == boundaries.last?.from { continue }
      let next = Self.boundary(at: moment, owed, endings, catalogue)
      if let last = boundaries.last, last.holdsAs(next) { continue }
      boundaries.append(next)
    }
    self.boundaries = boundaries
  }

  /// The schedule of an account that is unknown to billing.
  package static func free(_ catalogue: Catalogue) -> Schedule {
    Schedule(owed: [], endings: [], catalogue: catalogue)
  }

  /// A schedule as it was stored; nil if there is no boundary.
  package init?(stored boundaries: [Boundary]) {
    guard !boundaries.isEmpty else { return nil }
    self.boundaries = boundaries
  }

  /// A cap that replaces what is owed, from `from` up to but not including `to`.
  package struct Override: Hashable, Sendable {
    package let from: Instant
    package let to: Instant
    package let capByteCount: Int64

    package init(from: Instant, to: Instant, capByteCount: Int64) {
      self.from = from
      self.to = to
      self.capByteCount = capByteCount
    }
  }

  /// The same plans under the caps that were set; no two overrides may overlap.
  package func overridden(by overrides: [Override]) -> Schedule {
    let overrides = overrides.filter { $0.from < $0.to }
    guard !overrides.isEmpty else { return self }
    let moments = boundaries.map(\.from) + overrides.flatMap { [$0.from, $0.to] }
    var result: [Boundary] = []
    for moment in Set(moments).sorted() where moment < .distantFuture {
      var next = entry(at: moment)
      let cap = overrides.first { $0.from <= moment && moment < $0.to }?.capByteCount
      next = Boundary(
        from: moment, capByteCount: cap ?? next.capByteCount, planID: next.planID,
        reason: cap == nil ? next.reason : .quotaSet)
      if let last = result.last, last.holdsAs(next) { continue }
      result.append(next)
    }
    return Schedule(boundaries: result)
  }

  private init(boundaries: [Boundary]) { self.boundaries = boundaries }

  /// The cap, plan and reason in a span of time.
  package struct Span: Hashable, Sendable {
    package let from: Instant
    package let to: Instant
    package let capByteCount: Int64
    package let planID: String
    package let reason: CapReason

    package init(
      from: Instant, to: Instant, capByteCount: Int64, planID: String, reason: CapReason
    ) {
      self.from = from
      self.to = to
      self.capByteCount = capByteCount
      self.planID = planID
      self.reason = reason
    }

    package var beginning: Boundary {
      Boundary(from: from, capByteCount: capByteCount, planID: planID, reason: reason)
    }
  }

  /// The spans from `start` up to but not including `end`, without a gap; empty if there is no time between them.
  package func spans(from start: Instant, to end: Instant) -> [Span] {
    boundaries.enumerated().compactMap { index, boundary in
      let next = index + 1 < boundaries.count ? boundaries[index + 1].from : Instant.distantFuture
      let from = index == 0 ? start : max(boundary.from, start)
      guard from < min(next, end) else { return nil }
      return Span(
        from: from, to: min(next, end), capByteCount: boundary.capByteCount,
        planID: boundary.planID,
        reason: boundary.reason)
    }
  }

  /// The last boundary at or before `moment`, which applies at `moment`.
  package func entry(at moment: Instant) -> Boundary {
    boundaries.last { $0.from <= moment } ?? boundaries[0]
  }

  /// For each boundary, since when the cap is smaller than before: because a plan ended, or a smaller one or
  /// a quota took its place. Nil if it never shrank. The value stays until the cap grows.
  package var shrunkSince: [Instant?] {
    var (since, before) = (Instant?.none, boundaries[0].capByteCount)
    return boundaries.map { boundary in
      if boundary.capByteCount > before { since = nil }
      if boundary.capByteCount < before || (since == nil && boundary.reason.isEnd) {
        since = boundary.from
      }
      before = boundary.capByteCount
      return since
    }
  }

  /// The same if another schedule applied until `now`: room that it had and this one lacks is gone since `now`.
  package func shrunkSince(
    at now: Instant, heldByteCount: Int64, heldSince: Instant?
  ) -> [Instant?] {
    var since = shrunkSince
    guard let current = boundaries.lastIndex(where: { $0.from <= now }) else { return since }
    var before = heldByteCount
    var carried = heldSince
    for index in current..<boundaries.count {
      let cap = boundaries[index].capByteCount
      if cap > before { break }
      if index == current, cap < before { carried = carried ?? now }
      since[index] = since[index] ?? carried
      before = cap
    }
    return since
  }

  private static func boundary(
    at moment: Instant, _ owed: [Owed], _ endings: [Ending], _ catalogue: Catalogue
  ) -> Boundary {
    let current = owed.filter { $0.from <= moment && moment < $0.to }
    let additions = additions(current)
    let base = current.filter { !$0.plan.isAddition }.min(by: isBetter)
    if let granting = base ?? additions.first {
      let cap = additions.reduce((base?.plan ?? catalogue.free).byteCount) { cap, addition in
        cap.addingClamped(addition.plan.byteCount)
      }
      return Boundary(
        from: moment, capByteCount: cap, planID: granting.plan.id, reason: granting.reason)
    }
    let ending = endings.filter { $0.at <= moment }.max {
      ($0.at, -$0.reason.precedence) < ($1.at, -$1.reason.precedence)
    }
    return Boundary(
      from: moment, capByteCount: catalogue.free.byteCount, planID: catalogue.free.id,
      reason: ending?.reason ?? .neverSubscribed)
  }

  /// Every plan that a giver adds, once even if several of its periods overlap, in a fixed order.
  private static func additions(_ current: [Owed]) -> [Owed] {
    Dictionary(grouping: current.filter { $0.plan.isAddition }) { Addition($0.giver, $0.plan.id) }
      .values
      .compactMap { $0.min(by: isBetter) }.sorted(by: isBetter)
  }

  private struct Addition: Hashable {
    let giver: Int
    let planID: String

    init(_ giver: Int, _ planID: String) { (self.giver, self.planID) = (giver, planID) }
  }

  private static func isBetter(_ a: Owed, than b: Owed) -> Bool {
    (-a.plan.byteCount, a.plan.id, a.reason.precedence)
      < (-b.plan.byteCount, b.plan.id, b.reason.precedence)
  }
}
