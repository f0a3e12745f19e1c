import Google
import Subscriptions
import Testing

/// A purchase's past grants are a fact of the purchase, whichever read of it came last.
struct GooglePastTests {
  /// Google answers 410 sixty days after a purchase's end. If a notification was lost, the last read showed
  /// the purchase live. A purchase that already showed an end, or was replaced, must give the same result.
  @Test(arguments: Stories.google)
  func `a purchase tells one past, read after its end or not any more`(
    story: Stories.Named
  ) throws {
    let run = try story.run()
    let all = Array(run.parts.indices)
    let expected = run.digest(all)
    for key in run.ledger(all).keys {
      guard let dropped = run.readsAfterTheEnd(of: key) else { continue }
      let rest = all.filter { !dropped.contains($0) }
      let digest = run.digest(rest)
      #expect(digest == expected, "\(key): \(digest.difference(from: expected))")
    }
  }

  @Test(arguments: Stories.google)
  func `nothing is left of reads before the last one`(story: Stories.Named) throws {
    let run = try story.run()
    let all = Array(run.parts.indices)
    let expected = run.digest(all)
    let keys = run.ledger(all).keys
    let rest = all.filter { index in
      keys.allSatisfy { key in
        run.reads(of: key).last.map { !run.reads(of: key).contains(index) || $0 == index } ?? true
      }
    }
    let digest = run.digest(rest)
    #expect(digest == expected, "\(digest.difference(from: expected))")
  }
}

extension StoryRun {
  /// The indices of the parts that read a purchase, in order.
  fileprivate func reads(of key: ObjectKey) -> [Int] {
    parts.indices.filter { purchase(key, at: $0) != nil }
  }

  private func purchase(_ key: ObjectKey, at index: Int) -> GooglePurchase? {
    guard case .facts(let facts) = parts[index].what else { return nil }
    return facts.lazy.compactMap { fact in
      if fact.key == key, case .purchase(let purchase)? = fact.object.base as? GoogleObject {
        purchase
      } else {
        nil
      }
    }.first
  }

  /// The last reads of a purchase, without access. Only if the read before them showed its end, or if another
  /// purchase replaced it.
  fileprivate func readsAfterTheEnd(of key: ObjectKey) -> [Int]? {
    let reads = reads(of: key)
    guard
      let alive = reads.last(where: {
        switch purchase(key, at: $0)?.state {
        case .active, .canceled: true
        default: false
        }
      }), alive != reads.last, let last = purchase(key, at: alive)
    else { return nil }
    let isReplaced = parts.indices.contains { index in
      guard case .facts(let facts) = parts[index].what else { return false }
      return facts.contains { fact in
        if case .purchase(let other)? = fact.object.base as? GoogleObject {
          other.replaces == key.id && other.wasGranted
        } else {
          false
        }
      }
    }
    let endIsShown = !last.items.contains { $0.autoRenews }
    guard isReplaced || endIsShown else { return nil }
    return reads.filter { $0 > alive }
  }
}
