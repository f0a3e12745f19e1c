internal import Base
internal import Configuration
internal import HTTPServer
internal import Storage
internal import Stripe
internal import Sync

extension Command {
  private static let fixture = Parameter<String>.required(
    "fixture", text: "path of the recorded request", .path)
  private static let url = Parameter<String?>.optional(
    "--url", "url",
    text: "where to send it; the fixture's path at COFFER_BILLING_LISTEN without this option",
    .text)
  private static let secretIndex = Parameter<Int>.optional(
    "--secret-index", "number",
    text: {
      "which of COFFER_STRIPE_WEBHOOK_SECRETS signs, counted from 1; \($0) without this option"
    }, .index, otherwise: 1)
  private static let moment = Parameter<Instant?>.optional(
    "--at", "moment",
    text: "the signature's time, 2026-01-05T10:00:00Z or seconds; now without this option", .moment)
  private static let account = Parameter<String?>.optional(
    "--account", "account",
    text: "whose purchase a fixture of webhooks/first-steps is: an id or a username", .text)

  static let webhookSend = Command(
    words: ["webhook", "send"],
    abstract: "Sends a recorded delivery; Stripe's is signed anew with a configured secret.",
    discussion: "The fixture is a whole raw HTTP request, as under webhooks/. Stripe's signature "
      + "is replaced, since it holds for minutes; everything else, and what the App Store and "
      + "Google sent, goes as recorded. A fixture of webhooks/first-steps is made for an account "
      + "and the moment at which it is sent. Prints the status and the answer.",
    arguments: [fixture],
    options: [url, secretIndex, moment, account],
    answers: Exchange.shape,
    run: { invocation in
      let configuration = try PeerConfiguration(invocation.settings)
      let path = invocation[fixture]
      guard var fixture = RawRequest(try InputFile.bytes(at: path)) else {
        throw CommandFailure(.refused, "\(path) is not a whole HTTP request")
      }
      switch (FreshFixture.isFresh(fixture.body), invocation[account]) {
      case (true, let name?):
        let account = try DatabaseSession.with(invocation) { database, _ in
          try database.read { try DatabaseSession.account($0, name).id }
        }
        fixture.body = try FreshFixture.filled(
          fixture.body, account: account, now: configuration.clock.now())
      case (true, nil):
        throw CommandFailure(.usage, "--account is needed: \(path) is made for one")
      case (false, .some):
        throw CommandFailure(.usage, "--account is of no use: \(path) goes as recorded")
      case (false, nil): break
      }
      let signatures =
        try fixture.target == "/webhooks/stripe"
        ? [stripeSignature(fixture, invocation, configuration)] : []
      let url =
        invocation[url]
        ?? Exchange.baseURL(configuration.billingListen) + fixture.target
      let exchange = try Exchange(
        method: fixture.method, url: url,
        headers: fixture.headers.filter { !dropped.contains($0.name.lowercased()) }
          .map { ($0.name, $0.value) } + signatures,
        body: fixture.body)
      return Answer(code: exchange.code, text: exchange.text, json: exchange.json)
    })

  private static func stripeSignature(
    _ fixture: RawRequest, _ invocation: Invocation, _ configuration: PeerConfiguration
  ) throws(CommandFailure) -> (String, String) {
    let secret = try secret(invocation[secretIndex], configuration)
    let moment = invocation[moment] ?? configuration.clock.now()
    return (
      "Stripe-Signature", signatureHeader(body: fixture.body, secret: secret, at: moment)
    )
  }

  /// What this sender writes itself.
  private static let dropped: Set<String> = [
    "host", "content-length", "stripe-signature", "connection", "accept-encoding",
  ]

  private static func secret(
    _ number: Int, _ configuration: PeerConfiguration
  ) throws(CommandFailure) -> Secret {
    let secrets = configuration.stripeWebhookSecrets
    guard !secrets.isEmpty else {
      throw CommandFailure(
        .configuration,
        "\(StripeConfiguration.Keys.webhookSecrets.name): is required to sign a delivery")
    }
    guard 1...secrets.count ~= number else {
      throw CommandFailure(.usage, "--secret-index takes a number from 1 to \(secrets.count)")
    }
    return secrets[number - 1]
  }
}

extension Form where Value == Int {
  /// Counted from 1; how far is told by what is configured. 0 stands for what is no number.
  fileprivate static var index: Form {
    Form { (text, _) throws(CommandFailure) in Int(text) ?? 0 }
  }
}
