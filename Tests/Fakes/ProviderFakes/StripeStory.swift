package import Base

/// The story of one or two customers at their own fake Stripe.
package struct StripeStory: Sendable, CustomStringConvertible {
  package let name: String
  private let afterRetries: StripeSettings.AfterRetries
  private let script: @Sendable (FakeStripe) -> [Decision]

  /// The account that owns the stories' subscriptions.
  package static let account = Identifier(high: 0x5713_9E00_0000_4000, low: 0x8000_0000_0000_0001)
  /// Another account.
  package static let other = Identifier(high: 0x5713_9E00_0000_4000, low: 0x8000_0000_0000_0002)

  /// The beginning of every story: 2026-03-02T10:00:00Z.
  package static let start = Instant(seconds: 1_772_445_600)

  /// A decision at our own server in the meantime, which Stripe does not know.
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

  /// Runs the story to its end and moves the clock. The fake then has its deliveries and its truth.
  package func run(_ stripe: FakeStripe) -> [Decision] { script(stripe) }

  package var description: String { name }

  package static let all = buying + changing + adding + reversing
}
