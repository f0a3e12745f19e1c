import Base
import SeededRandom

/// The subscriptions, which of them were renewed during the outage, and the order of the deliveries
/// afterwards.
///
/// Each is paid by the month. The ends of their months are spread evenly over thirty days, and the stores
/// take turns. All whose month ended within the outage were renewed.
struct BacklogPlan {
  /// One delivery of a store.
  struct Delivery {
    let index: Int
    /// The index among the store's deliveries about this renewal.
    let part: Int
  }

  static let month = Instant.Span.days(30)
  private static let hour = 3_600_000.0
  /// The most hours by which a delivery can follow its renewal in the order.
  private static let disorderHours = 6.0

  let subscriptionCount: Int
  /// The number of renewed subscriptions, which are the first ones.
  let renewedCount: Int
  let deliveries: [Delivery]
  let now: Instant
  private let outage: Instant.Span

  init(_ options: Options, now: Instant) {
    subscriptionCount = options.subscriptionCount
    renewedCount = options.subscriptionCount * options.dayCount / 30
    // Whole seconds, as in Stripe's times.
    self.now = Instant(seconds: now.seconds)
    outage = .days(Int64(options.dayCount))
    var random = SeededGenerator(seed: options.seed)
    var placed: [(place: Double, delivery: Delivery)] = []
    for index in 0..<renewedCount {
      let renewal = Double(index) / Double(renewedCount) * Double(outage.milliseconds)
      for part in 0..<(Self.store(index) == .stripe ? 2 : 1) {
        let isDoubled = random.next() % 10 == 0
        for _ in 0..<(isDoubled ? 2 : 1) {
          let delay = Double(random.next() >> 11) / 0x1p53 * Self.disorderHours * Self.hour
          placed.append((renewal + delay, Delivery(index: index, part: part)))
        }
      }
    }
    deliveries = placed.sorted { $0.place < $1.place }.map(\.delivery)
  }

  static func store(_ index: Int) -> Options.Store { Options.Store.allCases[index % 3] }

  /// The end of the month that was paid before the outage.
  func monthEnd(_ index: Int) -> Instant {
    let seconds = Int64(index) * Self.month.milliseconds / 1000 / Int64(subscriptionCount)
    return now - outage + .seconds(seconds)
  }

  /// The end of the paid time once everything is known.
  func paidEnd(_ index: Int) -> Instant {
    index < renewedCount ? monthEnd(index) + Self.month : monthEnd(index)
  }

  static func account(_ index: Int) -> String {
    "00000000-0000-4000-8000-\(Serial.digits(index))"
  }
}
