import Apple
import Base
import KnownStores
import SeededRandom
import Stores
import Stripe
import Subscriptions

/// The cost of deriving a subscription from its deliveries, and of recording one more event.
struct FoldBench {
  private static let deliveryCount = 10_000

  let options: Options
  let workspace: Workspace

  func report() throws(BenchError) -> Report {
    let samples = try FoldSamples()
    var report = Report(subject: .fold, facts: try Machine(workspace, options).facts)
    for (name, make) in [
      ("Stripe", FoldSamples.stripe), ("App Store", FoldSamples.apple),
    ] {
      let provider: ObjectKey.Provider = name == "Stripe" ? .stripe : .apple
      let key = FoldSamples.key(provider, "sub1")
      for count in [FoldSamples.periodCount, Self.deliveryCount] {
        let deliveries = make(key.id, Identifier(high: 1, low: 1), count)
        let timings = time(samples, key, deliveries, "\(name), \(Self.grouped(count)) deliveries")
        report.timings += timings
        report.figures.append(
          .microseconds(
            "\(provider.rawValue)_\(count)_sources_coverage", timings[0].median,
            "for ten years' coverage, \(name), \(Self.grouped(count)) deliveries"))
      }
    }
    let cost = try LedgerCost(samples, options, workspace).measure()
    report.facts.append(("ledger", cost.description))
    report.timings += cost.timings
    report.figures += cost.figures
    return report
  }

  /// Times the coverage of joined facts, and joining them all in a random order.
  private func time(
    _ samples: FoldSamples, _ key: ObjectKey, _ deliveries: [[Fact]], _ name: String
  ) -> [Timing] {
    var random = SeededGenerator(seed: options.seed)
    let shuffled = deliveries.enumerated().shuffled(using: &random)
    func joined() -> Subscription {
      var subscription = StoreList.known[key.provider]!.subscription(key)
      for (index, facts) in shuffled {
        for fact in facts { subscription.insert(fact, delivery: Int64(index)) }
      }
      return subscription
    }
    let subscription = joined()
    func intervalCount(_ subscription: Subscription) -> Int {
      subscription.coverage(policy: .standard, catalogue: samples.catalogue).intervals.count
    }
    return [
      Timing("coverage: \(name)", times: 2000) { _ in intervalCount(subscription) },
      Timing("join all, then coverage: \(name)", times: deliveries.count > 1000 ? 50 : 1000) { _ in
        intervalCount(joined())
      },
    ]
  }

  static func grouped(_ number: Int) -> String {
    guard number >= 1000 else { return "\(number)" }
    return "\(grouped(number / 1000)),\(String(number % 1000 + 1000).dropFirst())"
  }
}
