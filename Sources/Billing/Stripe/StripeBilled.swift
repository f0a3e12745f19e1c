import Base
import Subscriptions
import Tiers

/// A period for which an invoice bills a plan, paid or granted all the same.
struct StripeBilled {
  var plan: Plan
  /// What bills the period again when it renews.
  let lineage: Lineage
  /// The item that its line names.
  let item: String?
  private(set) var from: Instant
  private(set) var to: Instant
  /// The index of its invoice, because whole invoices are expensive to sort.
  let index: Int
  /// When its invoice was created.
  let created: Instant
  let basis: Basis
  /// Whether a line that is not taken back ended it early. Whatever follows then follows that line.
  private(set) var isReplaced = false
  /// Whether it counts again because the line that replaced it was taken back.
  private(set) var isRevived = false
  /// If set, the period is taken back from then on.
  private(set) var reversal: StripeReversals.Reversal?

  enum Basis { case paid, courtesy, credit }

  /// The subscription's item, or the plan if no line says which item it is.
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

  /// The same period with another item's plan; with `fromEnd`, only what follows its end.
  func billing(_ plan: Plan, fromEnd: Bool = false) -> StripeBilled {
    var other = self
    other.plan = plan
    if fromEnd { other.from = to }
    return other
  }

  /// The same period, followed by something else.
  func replaced() -> StripeBilled {
    var other = self
    other.isReplaced = true
    return other
  }

  /// Most lines differ in their start; only few need more to be distinguished.
  private func isBefore(_ other: StripeBilled) -> Bool {
    if from != other.from { return from < other.from }
    return (created, to, plan.id, index) < (other.created, other.to, other.plan.id, other.index)
  }

  /// Lines of one invoice with the same start bill two items in parallel.
  private func isLater(than other: StripeBilled) -> Bool {
    (from, created) > (other.from, other.created)
  }

  /// Cuts each line at the start of the next one of its own item that is not taken back, whether
  /// that bills again or gives a credit. It goes from the last line to the first, so one pass is
  /// enough. Credits are left out of the result.
  static func truncated(
    _ billed: [StripeBilled], _ reversal: (StripeBilled) -> StripeReversals.Reversal?
  ) -> [StripeBilled] {
    var lines = billed.sorted { $0.isBefore($1) }
    var kept = Starts()
    var any = Starts()
    var end = lines.endIndex
    while end > lines.startIndex {
      // Lines with the same start that were billed together do not end each other.
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
  /// The plan is used in place of the item if one of two lines names no item.
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
