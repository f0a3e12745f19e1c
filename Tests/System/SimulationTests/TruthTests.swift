import Base
import BillingSimulation
import ProviderFakes
import Subscriptions
import Testing
import Tiers

/// Compares the schedule with what the store sold, not with our own fold. No one who paid is locked out, and
/// no one keeps unpaid access beyond what the policy gives.
struct TruthTests {
  /// The time from a fact at the store to its delivery here.
  private static let delay = Instant.Span.minutes(2)
  /// Without courtesy, which is given freely and unknown to the sales oracle.
  fileprivate static let policy: Policy = {
    var policy = Policy.standard
    policy.courtesyForVoided = false
    policy.courtesyForPausedCollection = false
    return policy
  }()

  @Test(arguments: Stories.judged)
  func `whoever has paid has access, and nobody else beyond the policy's generosity`(
    story: Stories.Named
  ) throws {
    let run = try story.run()
    var ledger: [Int] = []
    for moment in run.moments {
      ledger = run.parts.indices.filter { run.parts[$0].at + Self.delay <= moment }
      let schedule = run.schedules(run.ledger(ledger))
      // What the sales oracle knew early enough for all of it to have arrived.
      let before = run.truth(moment - Self.delay)
      let now = run.truth(moment)
      for account in run.accounts {
        let entry = schedule[account]?.entry(at: moment)
        let cap = entry?.capByteCount ?? run.freeByteCount
        let owed = run.owed(before.filter { now.contains($0) }, to: account, at: moment)
        #expect(cap >= owed, "\(run) locks out \(account) at \(moment)")
        let generosity = entry?.reason == .grace ? Self.policy.grace : Self.policy.leeway
        let most = run.most(before + now, to: account, at: moment, generosity)
        #expect(cap <= most, "\(run) gives \(account) too much at \(moment)")
      }
    }
  }
}

extension StoryRun {
  /// The time of each part and just after its arrival, and the times around the edges of everything sold.
  fileprivate var moments: [Instant] {
    var happened: [Instant] = []
    for part in parts { happened += [part.at, part.at + .minutes(2), part.at + .hours(3)] }
    var edges: [Instant] = []
    for edge in truth(end).flatMap({ [$0.from, $0.to] }) {
      edges += [edge - .minutes(5), edge + .minutes(5), edge + .hours(27), edge + .days(8)]
    }
    return Set(happened + edges).filter { start < $0 && $0 <= end }.sorted()
  }

  fileprivate var accounts: Set<Identifier> {
    var accounts: Set<Identifier> = []
    for part in parts {
      switch part.what {
      case .claim(_, let account), .deletion(let account): accounts.insert(account)
      case .facts: break
      }
    }
    accounts.formUnion(truth(end).compactMap { $0.account })
    return accounts
  }

  fileprivate var deleted: Set<Identifier> {
    Set(parts.compactMap { if case .deletion(let account) = $0.what { account } else { nil } })
  }

  fileprivate var freeByteCount: Int64 { simulationCatalogue.free.byteCount }

  fileprivate func schedules(_ ledger: MemoryLedger) -> [Identifier: Schedule] {
    var coverages: [Identifier: [Coverage]] = [:]
    for key in ledger.keys {
      let subscription = ledger.subscription(key)
      guard let owner = subscription.ownership.account else { continue }
      coverages[owner, default: []].append(
        subscription.coverage(policy: TruthTests.policy, catalogue: simulationCatalogue))
    }
    return coverages.mapValues { Schedule($0, catalogue: simulationCatalogue) }
  }

  /// The paid storage of an account, in bytes.
  fileprivate func owed(_ sold: [PaidPeriod], to account: Identifier, at moment: Instant) -> Int64 {
    guard !deleted.contains(account), hasClaimed(account, by: moment) else {
      return freeByteCount
    }
    return cap(sold.filter { $0.account == account && $0.from <= moment && moment < $0.to })
  }

  /// Whether every claim of the account in this story was made, and had time to arrive.
  private func hasClaimed(_ account: Identifier, by moment: Instant) -> Bool {
    parts.allSatisfy { part in
      if case .claim(_, account) = part.what { part.at + .minutes(2) <= moment } else { true }
    }
  }

  /// The account that claimed purchases made without naming an account.
  private var claimant: Identifier? {
    parts.lazy.compactMap { part -> Identifier? in
      if case .claim(_, let account) = part.what { account } else { nil }
    }.first
  }

  /// The largest permitted cap: what was paid for, and the policy's generosity after its end.
  fileprivate func most(
    _ sold: [PaidPeriod], to account: Identifier, at moment: Instant, _ generosity: Instant.Span
  ) -> Int64 {
    cap(
      sold.filter {
        ($0.account ?? claimant) == account && $0.from <= moment && moment < $0.to + generosity
      })
  }

  /// The size of the largest plan, plus all additions.
  private func cap(_ periods: [PaidPeriod]) -> Int64 {
    let plans = Set(
      periods.compactMap { period -> Plan? in
        let mapping = simulationCatalogue.mapping(
          provider: provider, price: period.productID, product: nil)
        return switch mapping {
        case .plan(let plan), .kept(let plan, _): plan
        case .ignored, .unknown: nil
        }
      })
    let base = plans.filter { !$0.isAddition }.map { $0.byteCount }.max() ?? freeByteCount
    return plans.filter { $0.isAddition }.reduce(base) { $0 + $1.byteCount }
  }

  private var provider: String { String(name.prefix { $0 != "/" }) }
}
