package import Base
package import Stores
package import Subscriptions

/// The result of recording a delivery, for metrics and the log, once it is durable.
package struct Recorded: Sendable {
  /// Its position among deliveries and decisions.
  package let number: Int64
  package let provider: ObjectKey.Provider
  package let deliveryID: String
  package let type: String
  package let disposition: DecodedDelivery.Disposition
  /// Why it cannot be read.
  package let error: String?
  package let notes: Set<String>
  package let isRedelivery: Bool
  /// Whether the same delivery id came before with another meaning.
  package let isConflicting: Bool
  /// Whether the provider's object went back in its lifecycle.
  package var rankFell = false
  /// Whether an account's storage follows from what it changed.
  var grants = false
  /// Whether it is from the environment, live or sandbox, that grants nothing here to any account concerned.
  package var isOfOtherEnvironment = false
  /// The accounts that own, or owned, what it changed. If it changed nothing, the owners of what it is about.
  package private(set) var accounts: Set<Identifier> = []
  /// The terms by which it can be found that were not written before.
  var terms: [SearchRow] = []
  /// The proof that was recorded with it, if any.
  var proof: ProofRow?
  /// Names of the alarms that this delivery raised, and what they are about.
  package private(set) var alarms: [Alarm] = []

  package struct Alarm: Sendable, Equatable {
    package let name: AlarmName
    package let object: String
    /// The store's product that the alarm is about, if any.
    package var product: String?
    /// The irregularity and the payment that the alarm is about, if any.
    package var payment: String?
  }

  /// Subscriptions whose objects contradict each other.
  private(set) var dirty: [ObjectKey] = []
  /// Subscriptions about which a delivery reported something that their store's API may explain.
  private(set) var unexplained: [ObjectKey] = []
  /// Objects that subscriptions name and no delivery reported.
  private(set) var unknown: [(subscription: ObjectKey, object: ObjectKey)] = []

  /// The status in the answer.
  package var status: String {
    if isRedelivery { return "duplicate" }
    return isConflicting ? "conflicting" : withoutEffect ?? "recorded"
  }

  /// Why it changes no account's storage, whatever it says; nil if it may.
  package var withoutEffect: String? {
    switch disposition {
    case .foreign, .premature, .undecodable: disposition.rawValue
    case .joined, .recorded: isOfOtherEnvironment ? "other_mode" : nil
    }
  }

  init(delivery: PreparedDelivery, row: DeliveryRow) {
    number = row.id
    provider = delivery.decoded.provider
    deliveryID = delivery.decoded.deliveryID
    type = delivery.decoded.type
    disposition = delivery.decoded.disposition
    error = delivery.error
    notes = delivery.decoded.notes
    isRedelivery = row.isRedelivery
    isConflicting = row.isConflicting && !row.isRedelivery
  }

  package mutating func add(concerned account: Identifier) { accounts.insert(account) }

  mutating func add(payingTwice account: Identifier) {
    alarms.append(Alarm(name: .doublePayment, object: "account:\(account)"))
  }

  mutating func add(_ derivation: Derivation, raisesAlarms: Bool) {
    let key = derivation.key
    if derivation.isDirty { dirty.append(key) }
    accounts.formUnion(derivation.accounts)
    if let owner = derivation.ownership.account { accounts.insert(owner) }
    unknown += derivation.unknown.map { (key, $0) }
    if derivation.newAlarms.contains(where: \.mayBeExplained) { unexplained.append(key) }
    guard raisesAlarms else { return }
    alarms += derivation.newAlarms.map {
      Alarm(name: $0.name, object: key.description, product: $0.product, payment: $0.payment)
    }
    if derivation.hasUnplannedEdge {
      alarms.append(Alarm(name: .unplannedEdge, object: key.description))
    }
    if derivation.becameContested {
      alarms.append(Alarm(name: .contestedOwner, object: key.description))
    }
  }
}

extension Coverage.Alarm {
  fileprivate var product: String? {
    switch self {
    case .unknownProduct(let price, let product): price ?? product
    case .unmappedProduct(let id): id
    case .unpaidItem(let product): product
    case .unknownStatus, .paidAfterEnd, .activeWithoutPayment, .reversal, .irregularPayment: nil
    }
  }

  /// Whether the store's API in its current version may explain what a delivery of an older one leaves out.
  fileprivate var mayBeExplained: Bool {
    if case .unknownStatus = self { true } else { self == .activeWithoutPayment }
  }

  fileprivate var payment: String? {
    guard case .irregularPayment(let irregularity, let object) = self else { return nil }
    return "\(irregularity.rawValue) \(object)"
  }
}
