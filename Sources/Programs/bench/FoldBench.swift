internal import Base
internal import Billing
internal import Crypto
internal import JSON
internal import Storage
internal import Subscriptions
internal import Tiers

/// What deriving one subscription costs, alone and among many others.
struct FoldBench {
  private static let start = Instant(seconds: 1_700_000_000)
  private static let month = Instant.Span.days(30)
  private static let catalogue = Catalogue.bench

  private let options: Options
  private let workspace: Workspace

  init(_ options: Options, _ workspace: Workspace) {
    self.options = options
    self.workspace = workspace
  }

  func report() throws(BenchError) -> Report {
    var report = Report(subject: .fold, facts: try Machine(workspace, options).facts)
    report.figures += Self.fold("stripe_ten_years", Self.stripe(months: 120, told: 1), "120 months")
    report.figures += Self.fold("apple_ten_years", Self.apple(months: 120), "120 transactions")
    let many = Self.stripe(months: 120, told: 83)
    report.figures += Self.fold("stripe_many_sources", many, "\(many.count) sources")
    report.figures += try ledger()
    return report
  }

  // MARK: in memory

  private static func fold(_ name: String, _ facts: [Fact], _ what: String) -> [Figure] {
    guard let key = facts.first?.subscription else { return [] }
    var subscription = Subscription(key)
    let joined = time(count: 1) {
      for (index, fact) in facts.enumerated() { subscription.insert(fact, source: Int64(index)) }
    }
    let times = time(count: 400) {
      _ = subscription.coverage(policy: .standard, catalogue: catalogue)
    }
    return [
      .microseconds("\(name)_join", joined[0] / Double(facts.count), "to join one of \(what)"),
      .microseconds(
        "\(name)_coverage", times[times.count / 2], "for the coverage of \(what), median"),
      .microseconds(
        "\(name)_coverage_p99", times[times.count * 99 / 100], "for it at the 99th percentile"),
    ]
  }

  /// Microseconds of each run, ascending.
  private static func time(count: Int, _ work: () -> Void) -> [Double] {
    (0..<count).map { _ in
      let began = MonotonicTime.now()
      work()
      return MonotonicTime.now().seconds(since: began) * 1e6
    }.sorted()
  }

  /// A monthly subscription, each of its objects told so many times over its life.
  private static func stripe(months: Int64, told: Int64, id: String = "sub_bench") -> [Fact] {
    var facts: [Fact] = []
    func add(_ kind: ObjectKey.Kind, _ id: String, _ object: StripeObject, _ at: Instant) {
      facts.append(
        Fact(
          key: ObjectKey(provider: .stripe, partition: .live, kind: kind, id: id),
          object: .stripe(object), asOf: .second(at)))
    }
    for number in 0..<months {
      let from = start + .milliseconds(month.milliseconds * number)
      for telling in 0..<told {
        let at = from + .seconds(telling * 60)
        let isPaid = telling == told - 1
        add(
          .invoice, "in_\(id)_\(number)",
          .invoice(
            StripeInvoice(
              subscription: id, status: isPaid ? .paid : .open, isCycle: number > 0,
              isAttempted: true, created: from, paidAt: isPaid ? at : nil,
              lines: [
                StripeInvoice.Line(
                  price: "price_bench", product: nil, amountMinorUnits: 299, from: from,
                  to: from + month)
              ])), at)
      }
      add(
        .subscription, id,
        .subscription(
          StripeSubscription(
            customer: "cus_\(id)", status: .active,
            items: [StripeSubscription.Item(price: "price_bench", product: nil)],
            account: account(id))), from)
    }
    return facts
  }

  private static func apple(months: Int64) -> [Fact] {
    (0..<months).map { number in
      let from = start + .milliseconds(month.milliseconds * number)
      return Fact(
        key: ObjectKey(provider: .apple, partition: .live, kind: .transaction, id: "2\(number)"),
        object: .apple(
          .transaction(
            AppleTransaction(
              originalTransactionID: "20", productID: "bench", purchaseDate: from,
              expiresDate: from + month, account: account("apple")))), asOf: .moment(from))
    }
  }

  private static func account(_ name: String) -> Identifier? {
    Identifier(bytes: SHA256.hash(Array(name.utf8)).prefix(16))
  }

  // MARK: among others

  private static let few = 1000
  private static let many = 100_000
  private static let sampleCount = 400

  /// Events of a fresh customer each, with few and with many others already in the ledger.
  private func ledger() throws(BenchError) -> [Figure] {
    do {
      let database = try Database.open(
        .sqlite(directory: try workspace.directory("fold")), owning: .billing)
      defer { database.close() }
      let sealing = try SealingKeys([Secret(Random.bytes(32))])
      let ledger = Ledger(rules: LedgerRules(catalogue: Self.catalogue))
      try fill(database, ledger, sealing, 0..<Self.few)
      let first = try measure(database, ledger, sealing, "few")
      try fill(database, ledger, sealing, Self.few..<Self.many)
      let second = try measure(database, ledger, sealing, "many")
      let ratio = second / first
      return [
        .microseconds("record_among_few", first, "to record an event among \(Self.few) others"),
        .microseconds("record_among_many", second, "to record one among \(Self.many)"),
        Figure(
          name: "growth_thousandths", value: Int((ratio * 1000).rounded()),
          text: "\(Figure.decimal(ratio, places: 2)) times the cost among "
            + "\(Self.many / Self.few) times as many others (aim: 1.3)", aim: 1300, isCost: true),
      ]
    } catch {
      throw .command("the ledger cannot be measured: \(error)")
    }
  }

  private func fill(
    _ database: Database, _ ledger: Ledger, _ sealing: SealingKeys, _ customers: Range<Int>
  ) throws {
    for start in stride(from: customers.lowerBound, to: customers.upperBound, by: 500) {
      let sources = (start..<min(start + 500, customers.upperBound)).flatMap { number in
        Self.sources("sub_\(SHA256.hash(Array("\(number)".utf8)).prefix(6))", months: 1, sealing)
      }
      try database.write(for: nil) { transaction in
        for source in sources { _ = try ledger.record(source, in: transaction) }
      }
    }
  }

  /// Microseconds for one event of a year-old subscription, the median of a few transactions.
  private func measure(
    _ database: Database, _ ledger: Ledger, _ sealing: SealingKeys, _ name: String
  ) throws -> Double {
    var times: [Double] = []
    for run in 0..<9 {
      let sources = (0..<(Self.sampleCount / 13)).flatMap { number in
        Self.sources("sub_\(name)_\(run)_\(number)", months: 6, sealing)
      }
      let began = MonotonicTime.now()
      try database.write(for: nil) { transaction in
        for source in sources { _ = try ledger.record(source, in: transaction) }
      }
      times.append(
        MonotonicTime.now().seconds(since: began) * 1e6 / Double(max(1, sources.count)))
    }
    return times.sorted()[times.count / 2]
  }

  private static func sources(
    _ id: String, months: Int64, _ sealing: SealingKeys
  ) -> [PreparedSource] {
    stripe(months: months, told: 1, id: id).enumerated().map { index, fact in
      PreparedSource(
        DecodedSource(
          provider: .stripe, partition: .live, deliveryID: "evt_\(id)_\(index)", type: "bench",
          facts: [fact], disposition: .joined, meaning: .integer(Int64(index))),
        received: start + .days(400), head: [], body: Array(id.utf8), sealing: sealing)
    }
  }
}

extension Fact {
  fileprivate var subscription: ObjectKey? {
    key.kind == .subscription ? key : links.first { $0.target.kind == .subscription }?.target
  }
}

extension Catalogue {
  fileprivate static let bench: Catalogue = {
    do {
      return try Catalogue(
        version: "bench", free: Plan(id: "free", title: "Free", byteCount: 1),
        paid: [
          Plan(
            id: "premium", title: "Premium", byteCount: 2,
            products: [
              Plan.Product(provider: "stripe", id: "price_bench"),
              Plan.Product(provider: "apple", id: "bench"),
            ])
        ])
    } catch {
      preconditionFailure("the benchmark's catalogue is refused: \(error)")
    }
  }()
}
