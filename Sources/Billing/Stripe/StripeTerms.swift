internal import JSON
internal import Stores
internal import Subscriptions
internal import Tiers

extension [SearchTerm] {
  /// What the objects that customers hear of may be looked for by.
  ///
  /// Who paid is told by the object that began it, and not by each renewal's again.
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
    /// By this alone it is the account's, as long as nothing was sold.
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
