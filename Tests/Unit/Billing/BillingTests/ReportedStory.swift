import Answers
import Base
import Ledger
import Report
import Storage
import Subscriptions
import Testing
import Tiers

/// Checks the monthly reports of a story against what is known of each of its subscriptions alone.
struct ReportedStory {
  private let subscriptions: [ObjectKey: Subscription]
  private let coverages: [ObjectKey: Coverage]
  /// The subscriptions that were on trial at some time, as noticed then.
  private let tried: Set<ObjectKey>
  private let chains: [[ObjectKey]]
  private let reports: [MonthlyReport]

  init(_ ledger: Ledger, _ catalogue: Catalogue, at now: Instant, reading reader: Reader) throws {
    let keys = try reader.rows(
      "SELECT object FROM billing.subscriptions WHERE environment = 'live'"
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
    subscriptions = Dictionary(
      uniqueKeysWithValues: try keys.map { ($0, try ledger.reading(reader).subscription($0)) })
    coverages = subscriptions.mapValues { $0.coverage(policy: .standard, catalogue: catalogue) }
    tried = Set(
      try reader.rows("SELECT object FROM billing.transitions WHERE state_after = 'trialing'") {
        row in try row.text(0)
      }.compactMap { ObjectKey($0) })
    let links = try reader.rows(
      "SELECT origin, target FROM billing.links WHERE kind = 'successor'"
    ) { row in (ObjectKey(try row.text(0)), ObjectKey(try row.text(1))) }
    var group = Dictionary(uniqueKeysWithValues: keys.map { ($0, $0) })
    for _ in keys {
      for case (let newer?, let older?) in links {
        guard let a = group[newer], let b = group[older] else { continue }
        group[newer] = min(a, b)
        group[older] = min(a, b)
      }
    }
    chains = Array(Dictionary(grouping: keys) { group[$0] ?? $0 }.values)
    var reports: [MonthlyReport] = []
    for count in [-1, 12, 24] as [Int64] {
      var report = MonthlyReport(Month(of: now).adding(count))
      var pages = try SubscriberPages(of: ledger, at: now, pageCount: 3, reading: reader)
      var subscriberCount = 0
      while let page = try pages.next() {
        subscriberCount += page.count
        for subscriber in page { report.add(subscriber) }
      }
      #expect(subscriberCount == chains.count)
      reports.append(report)
    }
    self.reports = reports
  }

  func check(_ name: String) {
    for report in reports {
      for (index, month) in report.months.enumerated() {
        checkSubscribers(report.movements[index], at: month.end, name)
        let (movement, before) = (
          report.movements[index], index > 0 ? report.movements[index - 1] : nil
        )
        #expect(before.map { $0.closing == movement.opening } ?? true, "\(name)")
        #expect(
          movement.opening + movement.new + movement.returned + movement.changedIn
            - movement.changedOut - movement.lost == movement.closing, "\(name), \(month)")
        let (trial, failure) = (report.trials[index], report.failures[index])
        #expect(
          trial.opening + trial.started - trial.converted - trial.ended == trial.closing,
          "\(name), \(month)")
        #expect(
          failure.opening + failure.failed - failure.recovered - failure.lost == failure.closing,
          "\(name), \(month)")
      }
      checkMoney(report, name)
    }
  }

  /// At a moment, every chain with a period under way is a subscriber, and none without coverage is. The
  /// cases between depend on what came before.
  private func checkSubscribers(
    _ movement: MonthlyReport.Movement, at end: Instant, _ name: String
  ) {
    var (least, most) = (Int64(0), Int64(0))
    for chain in chains {
      let owed = chain.flatMap { coverages[$0]?.intervals ?? [] }
        .filter { $0.from < end && end <= $0.to }
      if tried.isDisjoint(with: chain),
        owed.contains(where: { [.subscribed, .contested, .courtesy].contains($0.why) })
      {
        least += 1
      }
      if owed.contains(where: { $0.why != .trial }) { most += 1 }
    }
    #expect((least...max(least, most)).contains(movement.closing), "\(name), \(end)")
  }

  /// Compares every amount of every bill, by the month in which it was booked.
  private func checkMoney(_ report: MonthlyReport, _ name: String) {
    var expected: [String: Int64] = [:]
    for bill in subscriptions.values.map(\.record.bill) {
      for payment in bill.payments where payment.state == .paid {
        add(payment.amount, 1, at: payment.at, report, &expected)
      }
      for reversal in bill.reversals where reversal.state == .done && reversal.kind.isOfMoney {
        add(reversal.amount, -1, at: reversal.at, report, &expected)
      }
    }
    for (index, month) in report.months.enumerated() {
      for currency in report.currencies {
        let net = report.revenueOfMonths[currency]?[index].net.money(in: currency)
        #expect(
          net.map(Self.parts) == expected["\(month) \(currency)"] ?? 0, "\(name), \(month)")
      }
    }
    #expect(
      Set(report.currencies)
        == Set(expected.keys.compactMap { $0.split(separator: " ").last.map(String.init) }),
      "\(name)")
  }

  private func add(
    _ amount: Money?, _ sign: Int64, at moment: Instant, _ report: MonthlyReport,
    _ sums: inout [String: Int64]
  ) {
    guard let amount, Self.parts(amount) != 0, report.months[0].start <= moment,
      moment < report.month.end
    else { return }
    sums["\(Month(of: moment)) \(amount.currency)", default: 0] += sign * Self.parts(amount)
  }

  /// In thousandths.
  private static func parts(_ money: Money) -> Int64 {
    Int64(((Double(money.amount) ?? .nan) * 1000).rounded())
  }
}
