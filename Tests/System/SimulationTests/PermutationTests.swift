import SeededRandom
import Subscriptions
import TestEngines
import Testing

/// Whatever the order and the repetitions of deliveries, and whichever is lost, the end is the same.
struct PermutationTests {
  /// The number of seeded orders for a story with too many deliveries to try every order.
  static let orderCount = TestRun.isFull ? 500 : 15
  static let exhaustiveCountMax = TestRun.isFull ? 7 : 4

  @Test(arguments: Stories.all)
  func `every order of a story's deliveries, some of them twice, ends the same`(
    story: Stories.Named
  ) throws {
    let run = try story.run()
    let all = Array(run.parts.indices)
    let expected = run.digest(all)
    for order in Orders(run.deliveries, story.name) {
      // Decisions are Coffer's own: they keep their place, among deliveries in any order.
      let digest = run.digest(merge(order, run))
      guard digest == expected else {
        Issue.record("\(story.name) \(order): \(digest.difference(from: expected))")
        return
      }
    }
  }

  @Test(arguments: Stories.all)
  func `a lost delivery is repaired by reading the record`(story: Stories.Named) throws {
    let run = try story.run()
    let expected = run.digest(Array(run.parts.indices))
    let all = run.ledger(Array(run.parts.indices)).keys
    for lost in run.deliveries where !run.irreparable.contains(lost) {
      let rest = run.parts.indices.filter { $0 != lost }
      var ledger = run.ledger(rest)
      let known = ledger.keys
      // Nothing can be read about an object that was never reported.
      guard known == all else { continue }
      for key in known { ledger.join(try run.reread(key), delivery: 1000) }
      let digest = run.digest(ledger)
      guard digest == expected else {
        Issue.record(
          "\(story.name) without \(run.parts[lost].name): \(digest.difference(from: expected))")
        return
      }
    }
  }

  private func merge(_ order: [Int], _ run: StoryRun) -> [Int] {
    let decisions = run.parts.indices.filter { !run.deliveries.contains($0) }
    return order + decisions
  }
}

/// All orders of a few items, or seeded orders of many, each with random repetitions.
struct Orders: Sequence, IteratorProtocol {
  private var random: SeededGenerator
  private let items: [Int]
  private var rest: Int
  private var permutation: [Int]?

  init(_ items: [Int], _ name: String) {
    let seed = Seed.of(name)
    random = SeededGenerator(seed: seed)
    self.items = items
    permutation = items.count <= PermutationTests.exhaustiveCountMax ? items : nil
    rest = PermutationTests.orderCount
  }

  mutating func next() -> [Int]? {
    if let current = permutation {
      guard !current.isEmpty || rest == PermutationTests.orderCount else { return nil }
      permutation = Self.following(current) ?? []
      rest -= 1
      return current + repeated()
    }
    guard rest > 0 else { return nil }
    rest -= 1
    return (items + repeated()).shuffled(using: &random)
  }

  private mutating func repeated() -> [Int] {
    items.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
  }

  /// The next permutation in lexicographic order.
  private static func following(_ items: [Int]) -> [Int]? {
    var items = items
    guard let pivot = items.indices.dropLast().last(where: { items[$0] < items[$0 + 1] }),
      let swap = items.indices.last(where: { items[$0] > items[pivot] })
    else { return nil }
    items.swapAt(pivot, swap)
    items[(pivot + 1)...].reverse()
    return items
  }
}
