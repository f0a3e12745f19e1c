import Base
import HTTPMessages
import HTTPServer
import JSON

/// Google Play as a reconciliation needs it: keys, access tokens, single purchases, orders, also many at
/// once, and an empty list of refunds. It answers at once, and counts the requests about purchases.
final class ReconcileGoogle: Sendable {
  private let plan: ReconcilePlan
  private let keys: JSONValue
  private let state = Locked(State())

  private struct State {
    /// Whether the renewals have happened.
    var isRenewed = false
    var requestCount = 0
  }

  init(_ plan: ReconcilePlan, _ notifications: GoogleNotifications) {
    self.plan = plan
    keys = notifications.keySet
  }

  /// Shows the renewals from now on, and counts requests from 0.
  func renew() { state.withLock { $0 = State(isRenewed: true) } }

  /// Returns the number of requests, and counts from 0 again.
  func takeRequestCount() -> Int {
    state.withLock { state in
      defer { state.requestCount = 0 }
      return state.requestCount
    }
  }

  var routes: [Route] {
    let root = "/androidpublisher/v3/applications/\(GoogleNotifications.package)"
    let purchases = root + "/purchases"
    let keys = keys
    return [
      BacklogGoogle.route("GET", "/certs") { _ in keys },
      BacklogGoogle.route("POST", "/token") { _ in
        ["access_token": "ya29.bench", "expires_in": 3599, "token_type": "Bearer"]
      },
      BacklogGoogle.route("GET", "\(purchases)/subscriptionsv2/tokens/{token}") { captures in
        let index = BacklogGoogle.index(captures.first, after: ".")
        return self.purchase(index, isRenewed: self.count() && self.plan.isRenewed(index))
      },
      BacklogGoogle.route("GET", "\(purchases)/voidedpurchases") { _ in
        _ = self.count()
        return .object([])
      },
      BacklogGoogle.route("GET", "\(root)/orders/{order}") { captures in
        _ = self.count()
        return BacklogGoogle.order(captures.first.map(String.init) ?? "")
      },
      Route("GET", "\(root)/orders:batchGet") { head, _ in
        _ = self.count()
        let ids = (head.query ?? "").split(separator: "&").compactMap {
          $0.split(separator: "=").last.map(String.init)
        }
        let orders = ids.map { BacklogGoogle.order($0) }
        let response = Response.json(200, ["orders": .array(orders)])
        return .ready(Admission(body: .none, finish: { _ in .ready(response) }))
      },
    ]
  }

  private func count() -> Bool {
    state.withLock { state in
      state.requestCount += 1
      return state.isRenewed
    }
  }

  private func purchase(_ index: Int, isRenewed: Bool) -> JSONValue {
    let begin = plan.begin(index, isRenewal: isRenewed)
    return BacklogGoogle.purchase(
      of: index, from: plan.begin(index, isRenewal: false), to: begin + BacklogPlan.month,
      order: isRenewed ? "GPA.3300-\(index)" : "GPA.3200-\(index)")
  }
}
