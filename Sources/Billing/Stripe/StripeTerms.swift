import JSON
import Stores
import Subscriptions
import Tiers

extension [SearchTerm] {
  /// The terms by which objects that customers see can be found.
  ///
  /// The payer is taken from the object that began the purchase, not again from each renewal.
  init(stripe json: JSON, in environment: StoreEnvironment) {
    func key(_ kind: ObjectKey.Kind, _ id: JSON) -> ObjectKey? {
      id.reference.map {
        ObjectKey(provider: .stripe, environment: environment, kind: kind, id: $0)
      }
    }
    func person(_ texts: JSON..., of key: ObjectKey?) -> [SearchTerm] {
      guard let key else { return [] }
      return texts.compactMap { SearchTerm($0.string, of: key, isPersonal: true) }
    }
    /// As long as nothing was sold, only this ties the object to the account.
    func account(of key: ObjectKey?) -> [SearchTerm] {
      [key.flatMap { SearchTerm(json["metadata"][accountMetadataKey].string, of: $0) }].compactMap {
        $0
      }
    }
    switch json["object"].string {
    case "customer":
      let customer = key(.customer, json["id"])
      self = account(of: customer) + person(json["email"], json["name"], of: customer)
    case "checkout.session":
      let details = json["customer_details"]
      let session = key(.checkoutSession, json["id"])
      self =
        account(of: session)
        + person(
          details["email"], details["name"], of: key(.customer, json["customer"]) ?? session)
    case "invoice":
      let number = key(.invoice, json["id"]).flatMap { SearchTerm(json["number"].string, of: $0) }
      let isFirst = json["billing_reason"].string == "subscription_create"
      self =
        [number].compactMap { $0 }
        + (isFirst
          ? person(
            json["customer_email"], json["customer_name"], of: key(.customer, json["customer"]))
          : [])
    default: self = []
    }
  }
}
