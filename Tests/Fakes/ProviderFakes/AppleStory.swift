internal import Base
package import Crypto

/// What one customer lives through at the App Store, told anew at every call.
package struct AppleStory: Sendable, CustomStringConvertible {
  /// The folder's name.
  package let name: String
  package let title: String
  private let settings: FakeAppStore.Settings
  private let script: @Sendable (AppleTelling) -> Void
  private let start: Instant

  init(
    _ name: String, _ title: String,
    settings change: (inout FakeAppStore.Settings) -> Void = { _ in },
    _ script: @escaping @Sendable (AppleTelling) -> Void
  ) {
    self.name = name
    self.title = title
    self.script = script
    var settings = FakeAppStore.Settings()
    change(&settings)
    self.settings = settings
    // Mornings of March 2026, with milliseconds as the store's times have them.
    let digest = SHA256.hash(Array(name.utf8))
    start = Instant(
      milliseconds: 1_772_442_000_000 + Int64(digest[0] % 20) * 86_400_000
        + Int64(digest[1]) * 17_113)
  }

  package var description: String { name }

  /// Runs it to its end; what it delivered and knows is in the telling, whose API takes `apiKey`.
  package func tell(signer: AppleSigner, apiKey: P256PublicKey? = nil) -> AppleTelling {
    var settings = settings
    settings.apiKey = apiKey ?? settings.apiKey
    let telling = AppleTelling(name: name, start: start, signer: signer, settings: settings)
    script(telling)
    return telling
  }

  package static let all = paying + changing + ending + committing
}

extension AppleTelling {
  /// What stories begin with: a purchase that names the account, delivered.
  func buy(_ product: AppleProduct = .premiumMonthly) -> String {
    time(clock.now - .seconds(60), .nobody)
    let id = store.buy(product, for: account)
    deliver(product == .plusMonthly ? .plus() : .premium())
    return id
  }

  /// Steps a second before `moment` and right at it.
  func edge(_ moment: Instant, _ before: Expectation, _ after: Expectation) {
    time(Instant(seconds: (moment - .milliseconds(1)).seconds), before)
    time(moment, after)
  }

  /// The card works, and the renewal is told before the old period ends.
  func renew(_ id: String, _ expected: Expectation) {
    go(to: store.expiry(of: id) - store.settings.renewalLead)
    deliver(expected)
  }

  func go(_ span: Instant.Span) { clock.advance(by: span) }
  func go(to moment: Instant) { clock.set(moment) }
}
