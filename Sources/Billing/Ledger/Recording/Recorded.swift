package import Base
package import Stores
package import Subscriptions

/// What recording a delivery did: for metrics and the log, once it is durable.
package struct Recorded: Sendable {
  /// Its place among deliveries and decisions.
  package let number: Int64
  package let provider: ObjectKey.Provider
  package let deliveryID: String
  package let type: String
  package let disposition: DecodedDelivery.Disposition
  /// Why it cannot be read.
  package let error: String?
  package let notes: Set<String>
  package let isRedelivery: Bool
  /// The same delivery id came before with another meaning.
  package let isConflicting: Bool
  /// The provider's object went back in its lifecycle.
  package var rankFell = false
  /// Whether somebody's storage follows from what it changed.
  var grants = false
  /// Of the world, live or sandbox, that grants nothing here to anybody concerned.
  package var isOfOtherEnvironment = false
  /// Who owns, or owned, what it changed; where it changed nothing, who owns what it speaks of.
  package private(set) var accounts: Set<Identifier> = []
  /// What it can be found by that was not written before.
  var terms: [SearchRow] = []
  /// What proved it, where that was noted with it.
  var proof: ProofRow?
  /// Names of alarms that this delivery raised, with what they are about.
  package private(set) var alarms: [Alarm] = []

  package struct Alarm: Sendable, Equatable {
    package let name: AlarmName
    package let object: String
    /// The product of the store that it is about, if it is about one.
    package var product: String?
    /// What is irregular about which payment, if it is about one.
    package var payment: String?
  }

  /// Subscriptions whose objects contradict each other.
  private(set) var dirty: [ObjectKey] = []
  /// Subscriptions of which a delivery said something that their store's API may explain.
  private(set) var unexplained: [ObjectKey] = []
  /// Objects that subscriptions name and nobody told of.
  private(set) var unknown: [(subscription: ObjectKey, object: ObjectKey)] = []

  /// The word in the answer.
  package var status: String {
    if isRedelivery { return "duplicate" }
    return isConflicting ? "conflicting" : withoutEffect ?? "recorded"
  }

  /// Why it changes nobody's storage, whatever it says; nil where it may.
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
    for alarm in derivation.newAlarms {
      alarms.append(
        Alarm(
          name: alarm.name, object: key.description, product: alarm.product,
          payment: alarm.payment))
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

  fileprivate var payment: String? {
    guard case .irregularPayment(let irregularity, let object) = self else { return nil }
    return "\(irregularity.rawValue) \(object)"
  }
}
