import JSON
import Stores
import Subscriptions
import Tiers

extension [SearchTerm] {
  /// The terms by which objects that customers see can be found.
  ///
  /// The payer is taken from the object that began the purchase, not again from each renewal.
  init(stripe json: JSON, in environment: StoreEnvironment) {
    func terms(
      _ texts: [JSON], of kind: ObjectKey.Kind, _ id: JSON, isPersonal: Bool = false
    ) -> [SearchTerm] {
      guard let id = id.reference else { return [] }
      let key = ObjectKey(provider: .stripe, environment: environment, kind: kind, id: id)
      return texts.compactMap { SearchTerm($0.string, of: key, isPersonal: isPersonal) }
    }
    // As long as nothing was sold, only this ties the object to the account.
    let account = json["metadata"][accountMetadataKey]
    let customer = json["customer"]
    switch json["object"].string {
    case "customer":
      self =
        terms([account], of: .customer, json["id"])
        + terms([json["email"], json["name"]], of: .customer, json["id"], isPersonal: true)
    case "checkout.session":
      let details = json["customer_details"]
      let isNamed = customer.reference != nil
      self =
        terms([account], of: .checkoutSession, json["id"])
        + terms(
          [details["email"], details["name"]], of: isNamed ? .customer : .checkoutSession,
          isNamed ? customer : json["id"], isPersonal: true)
    case "invoice":
      self = terms([json["number"]], of: .invoice, json["id"])
      guard json["billing_reason"].string == "subscription_create" else { return }
      self += terms(
        [json["customer_email"], json["customer_name"]], of: .customer, customer, isPersonal: true)
    default: self = []
    }
  }
}
