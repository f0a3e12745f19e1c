internal import Base
internal import Subscriptions
internal import Tiers

/// A period for which an invoice bills a plan: paid, or given all the same.
struct StripeBilled {
  var plan: Plan
  /// What bills it again when it renews.
  let lineage: Lineage
  /// As its line names it.
  let item: String?
  private(set) var from: Instant
  private(set) var to: Instant
  /// The place of its invoice: whole invoices are dear to sort.
  let index: Int
  /// When its invoice was made.
  let created: Instant
  let basis: Basis
  /// Something that stands ended it early: whatever follows it, follows that.
  private(set) var isReplaced = false
  /// Owed again because what replaced it was taken back.
  private(set) var isRevived = false
  /// Taken back from then on.
  private(set) var reversal: StripeReversals.Reversal?

  enum Basis { case paid, courtesy, credit }

  /// The item of the subscription, or the plan where no line tells of which item it is.
  enum Lineage: Hashable {
    case item(String)
    case plan(String)
  }

  init(
    _ line: StripeInvoice.Line, _ plan: Plan, lineage: Lineage, to: Instant, index: Int,
    created: Instant, basis: Basis
  ) {
    self.plan = plan
    self.lineage = lineage
    item = line.item
    from = line.from
    self.to = to
    self.index = index
    self.created = created
    self.basis = basis
  }

  /// The same period of another item; or, from its end, only what follows it.
  func billing(_ plan: Plan, fromEnd: Bool = false) -> StripeBilled {
    var other = self
    other.plan = plan
    if fromEnd { other.from = to }
    return other
  }

  /// The same, followed by something else.
  func replaced() -> StripeBilled {
    var other = self
    other.isReplaced = true
    return other
  }

  /// Most differ where they start; only few have to be told apart by more.
  private func isBefore(_ other: StripeBilled) -> Bool {
    if from != other.from { return from < other.from }
    return (created, to, plan.id, index) < (other.created, other.to, other.plan.id, other.index)
  }

  /// Lines of one invoice that start together bill two items side by side.
  private func isLater(than other: StripeBilled) -> Bool {
    (from, created) > (other.from, other.created)
  }

  /// Each up to the next of its own item that stands, be it billed again or given back; from the
  /// last to the first, so that it is one pass. Credits have done their work then and are left out.
  static func truncated(
    _ billed: [StripeBilled], _ reversal: (StripeBilled) -> StripeReversals.Reversal?
  ) -> [StripeBilled] {
    var lines = billed.sorted { $0.isBefore($1) }
    var kept = Starts()
    var any = Starts()
    var end = lines.endIndex
    while end > lines.startIndex {
      // Those that start together and were billed together do not end each other.
      var start = end - 1
      while start > lines.startIndex, !lines[start].isLater(than: lines[start - 1]) { start -= 1 }
      for index in start..<end {
        lines[index].reversal = reversal(lines[index])
        let next = kept.next(after: lines[index])
        lines[index].isReplaced = next < lines[index].to
        lines[index].to = min(lines[index].to, next)
        lines[index].isRevived = any.next(after: lines[index]) < lines[index].to
      }
      for line in lines[start..<end] where line.basis != .courtesy {
        any.add(line)
        if line.reversal == nil { kept.add(line) }
      }
      end = start
    }
    return lines.filter { $0.basis != .credit }
  }

  /// Where the next line of each item starts, seen from the end of all lines.
  ///
  /// The plan stands for the item wherever one of two lines names none.
  private struct Starts {
    private var byItem: [String: Instant] = [:]
    private var namedByPlan: [String: Instant] = [:]
    private var unnamedByPlan: [String: Instant] = [:]

    mutating func add(_ line: StripeBilled) {
      if let item = line.item {
        byItem[item] = line.from
        namedByPlan[line.plan.id] = line.from
      } else {
        unnamedByPlan[line.plan.id] = line.from
      }
    }

    func next(after line: StripeBilled) -> Instant {
      let own = line.item.map { byItem[$0] } ?? namedByPlan[line.plan.id]
      return min(own ?? .distantFuture, unnamedByPlan[line.plan.id] ?? .distantFuture)
    }
  }
}
