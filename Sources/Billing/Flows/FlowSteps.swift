import Base
import JSON
import ProviderAPI
import Requests
import Stripe
import Subscriptions
import Tiers

/// The findings of a step, and what comes next.
struct StepResult {
  let next: Next
  var state: Flow.State = [:]
  var effect: Effect?

  enum Next: Equatable {
    case go(Flow.Step)
    /// Waits for the client if there is an action, otherwise for Stripe.
    case wait(Flow.Step, ClientAction?)
    case done(ClientAction?)
    case failed(FlowProblem)
  }

  /// A write that goes with the step's result.
  enum Effect: Equatable {
    case keepCustomer(String)
    case forgetCustomer(String)
  }

  init(_ next: Next, _ state: Flow.State = [:], effect: Effect? = nil) {
    (self.next, self.state, self.effect) = (next, state, effect)
  }

  static func go(_ step: Flow.Step, _ state: Flow.State = [:]) -> StepResult {
    StepResult(.go(step), state)
  }

  static func failed(_ code: FlowProblem.Code, _ members: [JSONValue.Member] = []) -> StepResult {
    StepResult(.failed(FlowProblem(code, members)))
  }
}

/// What each step does at Stripe: a few repeatable calls, outside any transaction.
///
/// Everything that a call sends follows from the stored flow, so that a repeat sends the same.
/// https://docs.stripe.com/api
struct FlowSteps {
  let api: StripeAPI
  let buying: StripeBuying
  let catalogue: Catalogue
  let flow: Flow
  let customer: StripeCustomers
  /// Nil unless the account is being deleted.
  let departure: Departure?
  let now: Instant

  /// Stripe forgets keys after a day.
  private static let keySpan = Instant.Span.hours(23)
  static let patience = Instant.Span.hours(22)

  var intention: Intention { flow.intention }

  func perform() throws(APIFailure) -> StepResult {
    if let departure, !intention.kind.isForLeaving { return try leave(departure) }
    return try performed()
  }

  func performed() throws(APIFailure) -> StepResult {
    switch flow.step {
    case .customer: try makeCustomer()
    case .setup: try setUp()
    case .confirm: try confirmed()
    case .subscribe: try subscribe(.errorIfIncomplete)
    case .authenticate: try subscribe(.defaultIncomplete)
    case .awaitPayment: try awaited()
    case .open: try openPage()
    case .visit: try visited()
    case .look: try look()
    case .release: try release()
    case .update: try update()
    case .updateLater: try updateLater()
    case .awaitUpdate: try awaitedUpdate()
    case .schedule: try schedule()
    case .phases: try putPhases()
    case .cancel: try cancel()
    case .uncancel: try uncancel()
    case .resume: try resume()
    case .end: try end()
    case .attach: try attach()
    case .assign: try assign()
    case .pay: try pay()
    case .awaitInvoice: try awaitedPayment()
    case .portal: try openPortal()
    case .undo: try undo()
    // The runner does these itself, without Stripe.
    case .record, .stopStore: preconditionFailure("\(flow.step) asks Stripe nothing")
    }
  }

  /// Whether Stripe would take a repeat of the step's call for another one, so that the step first looks what the
  /// call did.
  var isUnderNewKey: Bool {
    flow.state[.failures] != nil || now - flow.stepSince > Self.keySpan
  }

  /// Whether the client's time is over.
  var isOverdue: Bool { now - flow.stepSince > Self.patience }

  /// Waits until the customer has confirmed the payment of the subscription's newest invoice.
  func waiting(_ step: Flow.Step, for subscription: JSON) -> StepResult {
    let invoice = subscription["latest_invoice"]
    let state: Flow.State = invoice["id"].string.map { [.invoice: $0] } ?? [:]
    if isOverdue { return .go(.undo, state) }
    return StepResult(.wait(step, confirmation(of: invoice)), state)
  }

  func confirmation(of invoice: JSON) -> ClientAction? {
    invoice["confirmation_secret"]["client_secret"].string.map { .confirmPayment(clientSecret: $0) }
  }

  func path(_ collection: String, _ key: Flow.Key, _ rest: String = "") -> String {
    "/v1/\(collection)/\(flow.state[key] ?? "none")\(rest)"
  }

  /// The metadata of every object that Coffer makes: its account and its flow.
  func metadata(_ prefix: String = "metadata") -> StripeAPI.Form {
    [
      ("\(prefix)[coffer_account]", flow.account.description),
      ("\(prefix)[coffer_flow]", flow.id.description),
    ]
  }

  /// What follows an answer. A refusal ends the flow.
  func after(
    _ outcome: StripeAPI.Outcome, _ next: (JSON) throws(APIFailure) -> StepResult
  ) throws(APIFailure) -> StepResult {
    switch outcome {
    case .answered(let json): return try next(json)
    case .refused(let refusal): return failure(refusal)
    }
  }

  /// The result of a refusal that the step has no better explanation for.
  func failure(_ refusal: StripeRefusal) -> StepResult {
    if refusal.isOfCard { return declined(refusal.code, refusal.declineCode) }
    if let customer = flow.state[.customer], refusal.parameter == "customer",
      refusal.code == "resource_missing", intention.kind.isPurchase
    {
      // The customer was deleted at Stripe, so another one is made.
      return StepResult(.go(.customer), effect: .forgetCustomer(customer))
    }
    if refusal.code == "customer_tax_location_invalid" { return .failed(.billingAddressRequired) }
    if refusal.parameter == "payment_method" || refusal.parameter == "default_payment_method" {
      return .failed(.paymentMethodUnusable)
    }
    return .failed(.stripeRefused, [.init("stripe_code", .string(refusal.code ?? "unknown"))])
  }

  func declined(_ code: String?, _ declineCode: String?) -> StepResult {
    .failed(
      .cardDeclined,
      [
        .init("decline_code", .string(declineCode ?? code ?? "generic_decline")),
        .init(
          "mend",
          .string(intention.kind.isPurchase ? "another_payment_method" : "change_payment_method")),
      ])
  }
}
