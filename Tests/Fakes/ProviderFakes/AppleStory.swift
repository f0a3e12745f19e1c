import Base
package import Crypto

/// The story of one customer at the App Store, with the state expected after each delivery.
package struct AppleStory: Sendable, CustomStringConvertible {
  /// The folder's name.
  package let name: String
  package let title: String
  private let settings: FakeAppStore.Settings
  private let script: @Sendable (AppleRecorder) -> Void
  private let start: Instant

  init(
    _ name: String, _ title: String,
    settings change: (inout FakeAppStore.Settings) -> Void = { _ in },
    _ script: @escaping @Sendable (AppleRecorder) -> Void
  ) {
    self.name = name
    self.title = title
    self.script = script
    var settings = FakeAppStore.Settings()
    change(&settings)
    self.settings = settings
    // With milliseconds, like the store's times.
    start = .morning(of: name, apart: .milliseconds(17_113))
  }

  package var description: String { name }

  /// Runs the story to its end. The recorder then has its deliveries and knowledge; its store's API accepts
  /// `apiKey`.
  package func record(signer: AppleSigner, apiKey: P256PublicKey? = nil) -> AppleRecorder {
    var settings = settings
    settings.apiKey = apiKey ?? settings.apiKey
    let recorder = AppleRecorder("apple/\(name)", start: start) { clock, seed in
      settings.seed = seed
      return FakeAppStore(clock: clock, signer: signer, settings: settings)
    }
    script(recorder)
    return recorder
  }

  package static let all = paying + changing + ending + committing
}

extension AppleRecorder {
  /// The usual beginning: a purchase that names the account, delivered.
  func buy(_ product: AppleProduct = .premiumMonthly) -> String {
    time(clock.now - .seconds(60), .nobody)
    let id = store.buy(product, for: account)
    deliver(product == .plusMonthly ? .plus() : .premium())
    return id
  }

  /// The card works, and the renewal is reported before the old period ends.
  func renew(_ id: String, _ expected: Expectation) {
    go(to: store.expiry(of: id) - store.settings.renewalLead)
    deliver(expected)
  }
}
