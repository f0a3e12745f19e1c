import Base

/// The story of one customer at a shop with a BTCPay server, with the state expected after each delivery.
package struct BTCPayStory: Sendable, CustomStringConvertible {
  /// The folder's name.
  package let name: String
  package let title: String
  private let script: @Sendable (BTCPayRecorder) -> Void
  private let start: Instant

  init(
    _ name: String, _ title: String, _ script: @escaping @Sendable (BTCPayRecorder) -> Void
  ) {
    self.name = name
    self.title = title
    self.script = script
    start = .morning(of: name, apart: .seconds(17))
  }

  package var description: String { name }

  /// Runs the story to its end. The recorder then has its deliveries, reads and knowledge.
  package func record() -> BTCPayRecorder {
    let recorder = BTCPayRecorder("btcpay/\(name)", start: start) { clock, seed in
      var settings = FakeBTCPay.Settings()
      settings.seed = seed
      return FakeBTCPay(clock: clock, settings: settings)
    }
    script(recorder)
    return recorder
  }

  package static let all = paying + queueing + failing + reversing
}

extension BTCPayRecorder {
  /// The shop requests a payment, and our server learns of the invoice.
  func ask(_ product: BTCPayProduct, _ expected: StoryExpectation = .pending) -> String {
    let invoice = store.order(product, for: account)
    deliver(expected)
    return invoice
  }

  /// Requested and paid by Lightning: all events come within a second.
  @discardableResult
  func buy(
    _ product: BTCPayProduct = .premiumMonth, _ before: StoryExpectation = .pending,
    _ after: StoryExpectation = .premium()
  ) -> String {
    let invoice = ask(product, before)
    store.pay(invoice, .lightning)
    deliver(after, after, after)
    return invoice
  }

  /// When the period ends that an invoice bought.
  func end(_ invoice: String) -> Instant {
    guard let truth = store.truths(of: account).first(where: { $0.invoice == invoice }) else {
      preconditionFailure("the invoice bought nothing")
    }
    return truth.to
  }
}
