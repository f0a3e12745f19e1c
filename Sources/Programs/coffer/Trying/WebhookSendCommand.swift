import Accounts
import Acts
import Base
import CommandLine
import Configuration
import HTTPMessages
import Storage
import Stripe

extension Command {
  private static let fixture = Parameter<String>.required(
    "fixture", text: "path of the recorded request", .path)
  private static let url = Parameter<String?>.optional(
    "--url", "url",
    text: "target URL (default: the fixture's path at COFFER_BILLING_LISTEN)",
    .text)
  private static let secretIndex = Parameter<Int>.optional(
    "--secret-index", "number",
    text: {
      "which of COFFER_STRIPE_WEBHOOK_SECRETS signs, counted from 1 (default: \($0))"
    }, .index, otherwise: 1)
  private static let moment = Parameter<StatedTime?>.optional(
    "--at", "time",
    text: "the signature's time, 2026-01-05T10:00:00Z or seconds (default: now)", .time)
  private static let account = Parameter<String?>.optional(
    "--account", "account",
    text: "with --now, the account that gets the purchase (id or username)", .text)
  private static let now = Parameter<Bool>.flag(
    "--now", text: "send it as if it came now for --account (Stripe only)")

  static let webhookSend = Command(
    words: ["webhook", "send"],
    abstract: "Send a recorded delivery to coffer-billing",
    discussion: """
      The fixture is a whole raw HTTP request, as under webhooks/. Stripe's signature is replaced, because \
      it is valid for minutes only, and is made with a configured secret. Everything else is sent as \
      recorded. With --account and --now a Stripe delivery gets that account and the current time; the \
      deliveries of one story stay one purchase. The response body goes to stdout, the status to stderr.
      """,
    examples: ["coffer webhook send webhooks/stripe/first-purchase/01.http --account ada --now"],
    arguments: [fixture],
    options: [url, secretIndex, moment, account, now],
    answers: Exchange.listing.item,
    run: { invocation in
      let configuration = try PeerConfiguration(invocation.settings)
      let path = invocation[fixture]
      guard var fixture = RawRequest(try InputFile.bytes(at: path)) else {
        throw CommandFailure(.refused, "\(path) is not a complete HTTP request")
      }
      switch (invocation[account], invocation[now]) {
      case (let name?, true):
        guard fixture.target == stripe else {
          throw CommandFailure(
            .refused, "\(path) is signed by its store; only Stripe deliveries can be made again")
        }
        let account = try DatabaseSession.withAnyCatalogue(invocation) { database, _ in
          try database.read { try DatabaseSession.account($0, name).id }
        }
        guard
          let body = DeliveryOfToday.made(
            from: fixture.body, account: account, now: configuration.clock.now())
        else { throw CommandFailure(.refused, "the fixture is not a Stripe event") }
        fixture.body = body
      case (nil, false): break
      case (nil, true): throw CommandFailure(.usage, "--now needs --account")
      case (_, false): throw CommandFailure(.usage, "--account needs --now")
      }
      let signatures =
        try fixture.target == stripe
        ? [stripeSignature(fixture, invocation, configuration)] : []
      let url =
        invocation[url]
        ?? Exchange.baseURL(configuration.billingListen) + fixture.target
      let exchange = try Exchange(
        method: fixture.method, url: url,
        headers: fixture.headers.filter { !dropped.contains($0.name.lowercased()) }
          .map { ($0.name, $0.value) } + signatures,
        body: fixture.body)
      return exchange.answer()
    })

  private static let stripe = "/webhooks/stripe"

  private static func stripeSignature(
    _ fixture: RawRequest, _ invocation: Invocation, _ configuration: PeerConfiguration
  ) throws(CommandFailure) -> (String, String) {
    let secret = try secret(invocation[secretIndex], configuration)
    let now = configuration.clock.now()
    let moment = invocation[moment]?.moment(at: now) ?? now
    return ("Stripe-Signature", signatureHeader(body: fixture.body, secret: secret, at: moment))
  }

  /// The headers that this sender writes itself.
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
  /// Counted from 1; the configuration decides the maximum. 0 stands for text that is no number.
  fileprivate static var index: Form {
    Form { (text, _) throws(CommandFailure) in Int(text) ?? 0 }
  }
}
