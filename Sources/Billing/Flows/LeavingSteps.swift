import JSON
import ProviderAPI
import Requests
import Stripe

/// The steps of a purchase or change whose account is being deleted. Nothing new is charged, and
/// what waits for the customer at Stripe is undone.
extension FlowSteps {
  /// Runs the step for such an account. Each step first checks what an earlier call, whose answer was lost,
  /// did at Stripe. What is paid is recorded, so that the account's deletion ends its renewal.
  func leave(_ departure: Departure) throws(APIFailure) -> StepResult {
    switch flow.step {
    case .customer, .setup, .confirm, .look, .schedule, .phases, .uncancel, .attach, .assign,
      .portal:
      return StepResult(.failed(.leaving(departure)))
    case .subscribe, .authenticate:
      return takingBack(try existing() ?? StepResult(.failed(.leaving(departure))), departure)
    // Repeating the call finds the page that a lost call opened.
    case .open: return takingBack(try openPage(), departure)
    case .visit: return takingBack(try visited(), departure)
    case .awaitPayment: return takingBack(try awaited(), departure)
    case .update, .updateLater, .awaitUpdate: return takingBack(try awaitedUpdate(), departure)
    case .resume:
      guard case .answered(let json) = try api.get(path("subscriptions", .subscription)),
        json["status"].string != "paused"
      else { return StepResult(.failed(.leaving(departure))) }
      return .go(.record)
    case .pay, .awaitInvoice: return takingBack(try awaitedPayment(), departure)
    case .cancel, .end, .undo, .release, .record, .stopStore: return try performed()
    }
  }

  private func takingBack(_ result: StepResult, _ departure: Departure) -> StepResult {
    switch result.next {
    case .wait:
      let reason: Flow.State = [.reason: FlowProblem.Code.accountLeaving.rawValue]
      return StepResult(.go(.undo), result.state.merging(reason) { $1 }, effect: result.effect)
    case .failed(let problem) where problem.code == .notCompleted:
      return StepResult(.failed(.leaving(departure)))
    case .go, .done, .failed: return result
    }
  }
}
