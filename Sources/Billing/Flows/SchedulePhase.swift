import Base
import JSON
import Stripe

/// A phase of a subscription schedule, as Stripe shows it and as it takes it back.
///
/// An update replaces all phases, and what it does not repeat is gone: items, discounts, a trial that still runs.
/// https://docs.stripe.com/api/subscription_schedules/update
struct SchedulePhase {
  private let json: JSON

  init(_ json: JSON) { self.json = json }

  /// The phase that runs now; nil if there is none. Phases before it remain in the list.
  init?(currentOf schedule: JSON) {
    guard let start = schedule["current_phase"]["start_date"].integer,
      let phase = schedule["phases"].array?.first(where: { $0["start_date"].integer == start })
    else { return nil }
    self.init(phase)
  }

  /// In seconds since 1970, like all times of Stripe's.
  var start: Int64? { json["start_date"].integer }
  /// When the phase's trial ends or ended; nil without a trial.
  var trialEnd: Int64? { json["trial_end"].integer }

  /// The end of the phase, or before it that of a trial that still runs.
  func end(at now: Instant) -> Int64? {
    if let trialEnd, trialEnd > now.seconds { return trialEnd }
    return json["end_date"].integer
  }

  var prices: [String] { (json["items"].array ?? []).compactMap { $0["price"].reference } }

  /// What the phase bills and how, but not when. `price` replaces the item price `old`.
  ///
  /// It leaves out the payment method, which the schedule sets for all phases. A phase's own would come back when
  /// the phase begins, also if the customer has set another since.
  func form(_ name: String, replacing old: String? = nil, with price: String = "")
    -> StripeAPI.Form
  {
    var form: StripeAPI.Form = []
    for (index, item) in (json["items"].array ?? []).enumerated() {
      let place = "\(name)[items][\(index)]"
      let own = item["price"].reference ?? ""
      form.append(("\(place)[price]", own == old ? price : own))
      // A price that counts usage has none.
      if let quantity = item["quantity"].integer {
        form.append(("\(place)[quantity]", String(quantity)))
      }
      form += Self.ids("\(place)[tax_rates]", item["tax_rates"])
      form += Self.discounts(place, item["discounts"])
    }
    form += Self.discounts(name, json["discounts"])
    form += Self.ids("\(name)[default_tax_rates]", json["default_tax_rates"])
    if let enabled = json["automatic_tax"]["enabled"].bool {
      form.append(("\(name)[automatic_tax][enabled]", enabled ? "true" : "false"))
    }
    if let method = json["collection_method"].string {
      form.append(("\(name)[collection_method]", method))
    }
    if let days = json["invoice_settings"]["days_until_due"].integer {
      form.append(("\(name)[invoice_settings][days_until_due]", String(days)))
    }
    return form
  }

  /// A discount is named by its id, so that it runs on. A coupon or a code would be redeemed anew.
  private static func discounts(_ name: String, _ list: JSON) -> StripeAPI.Form {
    let found = (list.array ?? []).compactMap { discount in
      ["discount", "promotion_code", "coupon"].lazy.compactMap { kind in
        discount[kind].reference.map { (kind: kind, id: $0) }
      }.first
    }
    return found.enumerated().map { index, one in
      ("\(name)[discounts][\(index)][\(one.kind)]", one.id)
    }
  }

  private static func ids(_ name: String, _ list: JSON) -> StripeAPI.Form {
    (list.array ?? []).compactMap(\.reference).enumerated().map { index, id in
      ("\(name)[\(index)]", id)
    }
  }
}
