import Endpoints
package import HTTPMessages
package import JSON
package import Requests

/// Why a flow failed or cannot begin: a code for programs, with its details.
package struct FlowProblem: AnswerableError, Equatable {
  package let code: Code
  /// Details besides the code, such as the bank's reason.
  package let members: [JSONValue.Member]
  /// How long to wait before another attempt; nil if waiting does not help.
  private let retryAfterSeconds: Int?

  package init(
    _ code: Code, _ members: [JSONValue.Member] = [], retryAfterSeconds: Int? = nil
  ) {
    self.code = code
    self.members = members
    self.retryAfterSeconds = retryAfterSeconds
  }

  package enum Code: String, Sendable, CaseIterable {
    case cardDeclined = "card_declined"
    case paymentMethodUnusable = "payment_method_unusable"
    case notCompleted = "not_completed"
    case givenUp = "given_up"
    case droppedByOperator = "dropped_by_operator"
    case alreadySubscribed = "already_subscribed"
    case subscribedElsewhere = "subscribed_elsewhere"
    case flowOpen = "flow_open"
    case tooManyFlows = "too_many_flows"
    case planUnknown = "plan_unknown"
    case planNotSold = "plan_not_sold"
    case noSubscription = "no_subscription"
    case noCustomer = "no_customer"
    case subscriptionEnded = "subscription_ended"
    case subscriptionPaused = "subscription_paused"
    case nothingToCancel = "nothing_to_cancel"
    case nothingToPay = "nothing_to_pay"
    case nothingToMigrate = "nothing_to_migrate"
    case migrationNotOffered = "migration_not_offered"
    case paymentDue = "payment_due"
    case billingAddressRequired = "billing_address_required"
    case stripeRefused = "stripe_refused"
    case stripeOff = "stripe_off"
    case flowUnknown = "flow_unknown"
    case flowRunning = "flow_running"
    case accountLeaving = "account_leaving"
  }

  /// The problem of an account that is being deleted, with who requested the deletion and how to cancel it.
  package static func leaving(_ departure: Departure) -> FlowProblem {
    FlowProblem(
      .accountLeaving, [.init("detail", .string(departure.detail))] + departure.members)
  }

  package var problem: Problem {
    let (status, title, general) = code.words
    var members = members
    var detail = general
    if code == .accountLeaving, case .string(let text) = members.first?.value,
      members.first?.name == "detail"
    {
      detail = text + " " + general
      members.removeFirst()
    }
    return Problem(
      status, code.rawValue, title, detail, members: members, retryAfterSeconds: retryAfterSeconds)
  }
}

extension FlowProblem.Code {
  /// The one table of status, title and what to do.
  fileprivate var words: (status: Int, title: String, detail: String) {
    switch self {
    case .cardDeclined:
      (
        402, "Card declined",
        "The bank declined the payment. Use another card or contact the bank. Nothing was charged."
      )
    case .paymentMethodUnusable:
      (
        409, "Payment method unusable",
        "Stripe does not know this payment method, or it belongs to another customer or was used up. "
          + "Make a new one."
      )
    case .notCompleted:
      (
        409, "Not completed",
        "What had to be done at the bank or on Stripe's page was not done in time. Nothing was "
          + "charged; begin again."
      )
    case .givenUp:
      (409, "Cancelled", "The account cancelled the operation before it was completed.")
    case .droppedByOperator: (409, "Dropped", "The operator stopped the operation. Start again.")
    case .alreadySubscribed:
      (
        409, "Already subscribed",
        "The account already has a subscription at Stripe. Change, cancel or resume it."
      )
    case .subscribedElsewhere:
      (
        409, "Subscribed elsewhere",
        "The account has a subscription in another store. Cancel it there, or migrate it."
      )
    case .flowOpen:
      (
        409, "Another operation is open",
        "Another billing operation of the account is open. Complete it or cancel it (DELETE /v1/flows/{id})."
      )
    case .tooManyFlows:
      (429, "Too many attempts", "An account can start at most 30 billing operations an hour.")
    case .planUnknown: (404, "Unknown plan", "No plan with this id is for sale.")
    case .planNotSold:
      (409, "Not sold here", "This plan is not sold through Stripe at that interval.")
    case .noSubscription: (404, "No subscription", "The account has no subscription at Stripe.")
    case .noCustomer: (404, "No customer", "The account has no customer of its own at Stripe.")
    case .subscriptionEnded:
      (
        409, "The subscription has ended",
        "A subscription that has ended cannot be resumed. Subscribe again."
      )
    case .subscriptionPaused:
      (
        409, "The subscription is paused",
        "A paused subscription cannot be changed. Resume it first."
      )
    case .nothingToCancel:
      (409, "Nothing to cancel", "The account has no active subscription at Stripe.")
    case .nothingToPay: (409, "Nothing to pay", "No invoice of the subscription is open.")
    case .nothingToMigrate:
      (409, "Nothing to migrate", "The account has no subscription in another store.")
    case .migrationNotOffered:
      (
        409, "Migration is not offered",
        "Subscriptions of that store cannot be moved to Stripe. Cancel it there, then subscribe."
      )
    case .paymentDue:
      (
        409, "A payment is due",
        "The last payment failed. Pay it or use another card before you change the plan."
      )
    case .billingAddressRequired:
      (
        409, "Billing address required",
        "Stripe needs the customer's address for the tax. Buy on Stripe's page, which asks for it "
          + "(POST /v1/stripe/checkout)."
      )
    case .stripeRefused:
      (
        502, "Rejected by Stripe",
        "Stripe rejected the request because of a configuration problem. The operator must fix it."
      )
    case .stripeOff: (503, "Stripe is off", "This server does not sell through Stripe.")
    case .accountLeaving:
      (
        403, "Account is being deleted",
        "It cannot buy or claim until the deletion is cancelled. Cancelling a subscription still works."
      )
    case .flowUnknown: (404, "Unknown flow", "The account has no such flow.")
    case .flowRunning:
      (409, "Under way", "The operation is running or finished and cannot be cancelled.")
    }
  }
}

extension FlowProblem {
  var text: String {
    let json: JSONValue = ["code": .string(code.rawValue), "members": .object(members)]
    return String(decoding: json.encoded(), as: UTF8.self)
  }

  /// Parses what `text` returned. A code that this version no longer knows becomes `stripeRefused`.
  init(text: String) {
    let json = try? JSON.parse(Array(text.utf8))
    let members = json?["members"].members ?? []
    self.init(
      json?["code"].string.flatMap { Code(rawValue: $0) } ?? .stripeRefused,
      members.compactMap { member in
        JSONValue(member.value).map { .init(member.name, $0) }
      })
  }
}
