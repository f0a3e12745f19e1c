package import Base

/// Something that happens to one customer, or to two, at a fake Stripe of its own.
package struct StripeStory: Sendable, CustomStringConvertible {
  package let name: String
  private let afterRetries: StripeSettings.AfterRetries
  private let script: @Sendable (FakeStripe) -> [Decision]

  /// Whose subscriptions the stories tell of.
  package static let account = Identifier(high: 0x5713_9E00_0000_4000, low: 0x8000_0000_0000_0001)
  /// Somebody else.
  package static let other = Identifier(high: 0x5713_9E00_0000_4000, low: 0x8000_0000_0000_0002)

  /// 2026-03-02T10:00:00Z: when every story begins.
  package static let start = Instant(seconds: 1_772_445_600)

  /// What happens at our own server in the meantime; Stripe knows nothing of it.
  package enum Decision: Hashable, Sendable {
    case deleteAccount(Identifier, at: Instant)
    case claim(subscription: String, by: Identifier, at: Instant)
  }

  private init(
    name: String, afterRetries: StripeSettings.AfterRetries,
    script: @escaping @Sendable (FakeStripe) -> [Decision]
  ) {
    self.name = name
    self.afterRetries = afterRetries
    self.script = script
  }

  init(
    _ name: String, afterRetries: StripeSettings.AfterRetries = .cancel,
    _ script: @escaping @Sendable (FakeStripe) -> Void
  ) {
    self.init(name: name, afterRetries: afterRetries) { stripe in
      script(stripe)
      return []
    }
  }

  static func deciding(
    _ name: String, _ script: @escaping @Sendable (FakeStripe) -> [Decision]
  ) -> StripeStory {
    StripeStory(name: name, afterRetries: .cancel, script: script)
  }

  /// A Stripe set up for this story, at its beginning.
  package func makeStripe(
    _ version: StripeVersion, _ clock: FakeClock = FakeClock(Self.start),
    events: StripeSettings.Events = .usual
  ) -> FakeStripe {
    var settings = StripeSettings(version)
    settings.seed = name
    settings.events = events
    settings.afterRetries = afterRetries
    return FakeStripe(clock, settings)
  }

  /// Tells it to the end, moving the clock; the fake then holds its deliveries and its truth.
  package func run(_ stripe: FakeStripe) -> [Decision] { script(stripe) }

  package var description: String { name }

  package static let all = buying + changing + adding + reversing
}
