package import Base
package import Compression
package import Configuration
package import JSON
package import ProviderAPI
package import Subscriptions
package import Tiers

/// Everything that is specific to one store.
///
/// There is a value for each store, used or not, because stored purchases are derived in any case. Parts that
/// need settings are absent without them.
package protocol Store: Sendable {
  associatedtype Record: StoreRecord where Record.Object: StoredObject
  associatedtype Configuration: StoreConfiguration

  /// A store that is switched off: nothing is received, read or claimed.
  init()

  /// A store as configured; `transport` sends the requests to its API.
  init(
    _ configuration: Configuration, transport: any ProviderTransport, clock: Clock
  ) throws(StoreSetupError)

  var provider: ObjectKey.Provider { get }

  var traits: StoreTraits { get }

  /// Compresses what is stored of its deliveries, and decompresses everything it ever compressed.
  var compressor: Compressor { get }

  /// The subscriptions that a fact of this store can change. The fact's links are already written.
  func subscriptions(changedBy fact: Fact, _ links: any LinkReader) throws -> [ObjectKey]

  /// Whether this text has the letters and the length of a subscription's id in a key.
  func isSubscriptionID(_ text: String) -> Bool

  /// The purchase identified by a number that people have from the store, assumed to be from `environment`; nil
  /// if the text does not have the form of such a number.
  func purchase(named number: String, in environment: StoreEnvironment) -> NamedPurchase?

  /// The objects that a text names, known or not, as copied from the store's own pages or an app.
  /// The text is an id, or a secret that stands for one.
  func keys(named text: String) -> [ObjectKey]

  /// Asks the store for the subscriptions that were bought with an order, by the number on the receipt. Nil if
  /// the text is no number that only its API can resolve.
  ///
  /// - Throws: `.misconfigured` if the API is not configured.
  func subscriptions(boughtBy order: String) throws(APIFailure) -> [ObjectKey]?

  /// The terms under which a text may have been stored.
  func terms(searchedBy text: String) -> [String]

  /// How its deliveries are verified and decoded; nil if the store is off.
  var webhook: Webhook? { get }

  /// A stored delivery of a webhook or a claim, as today's decoder reads it.
  func delivered(again kept: KeptMessage) throws -> DecodedDelivery

  /// The same for an answer to a read, without the further reads that it would cause.
  func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer

  var isReadable: Bool { get }

  /// Reads an object again from the store.
  ///
  /// - Throws: `.misconfigured` if the API is not configured.
  func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer

  /// Parts of subscriptions as they are now, as far as the store returns them, in few requests. For stores with
  /// `traits.partsRead`.
  func parts(named keys: [ObjectKey]) throws(APIFailure) -> [Fact]

  /// The lists in which the store repeats what it reported; empty if it cannot be asked.
  var listings: [StoreListing] { get }

  /// Reads one page of a list: a bounded number of requests.
  func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage

  /// The certificates that verify its signatures, if it uses any.
  var certificates: [StoreCertificate] { get }

  /// The member of a claim in which a device sends its purchase; nil if there are no claims.
  var claimMember: String? { get }

  /// The purchase that a device claims.
  ///
  /// - Throws: A `JSONError` if it is no purchase, a `WebhookRefusal` if the store did not sign it.
  func claimed(_ json: JSON, at now: Instant) throws -> ClaimedPurchase

  /// Reports to the store that a purchase was delivered to its owner.
  func acknowledge(
    _ request: StoreRead, _ record: any StoreRecord, for owner: Identifier
  ) throws(APIFailure)

  /// Carries out an operator's order, one of `traits.orders`. Repeating it changes nothing.
  func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure)

  /// The reason to give to a read so that it shows the result of such an order; nil if every read does.
  func readReason(after order: StoreOrder) -> String?

  /// Whether the last read shows what a notification announced at `moment` with this reason to read the object;
  /// nil if it announces nothing. For stores with `traits.announcesFirst`.
  func shows(_ reason: String, announced moment: Instant, _ record: any StoreRecord) -> Bool?

  /// Answers the store's question before a refund. Answering again changes nothing.
  func answer(_ question: RefundQuestion, with evidence: RefundEvidence) throws(APIFailure)
}

extension Store {
  package func purchase(
    named number: String, in environment: StoreEnvironment
  ) -> NamedPurchase? {
    guard let prefix = traits.subscriptionIDPrefix, number.hasPrefix(prefix),
      isSubscriptionID(number)
    else { return nil }
    let key = ObjectKey(
      provider: provider, environment: environment, kind: traits.subscriptionKind, id: number)
    return NamedPurchase(object: key, subscription: key)
  }

  package var claimMember: String? { nil }

  package func keys(named text: String) -> [ObjectKey] {
    guard isID(text) else { return [] }
    return StoreEnvironment.allCases.flatMap { environment in
      traits.kinds.map {
        ObjectKey(provider: provider, environment: environment, kind: $0, id: text)
      }
    }
  }

  package func subscriptions(boughtBy order: String) throws(APIFailure) -> [ObjectKey]? { nil }

  package func terms(searchedBy text: String) -> [String] { [SearchTerm.normalized(text)] }

  package func parts(named keys: [ObjectKey]) throws(APIFailure) -> [Fact] { [] }

  package var certificates: [StoreCertificate] { [] }

  package func claimed(_ json: JSON, at now: Instant) throws -> ClaimedPurchase {
    throw json.failure("cannot be claimed")
  }

  package func acknowledge(
    _ request: StoreRead, _ record: any StoreRecord, for owner: Identifier
  ) throws(APIFailure) {}

  package func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure) {
    throw .refused(status: 0, traits.orderAdvice)
  }

  package func readReason(after order: StoreOrder) -> String? { nil }

  package func shows(
    _ reason: String, announced moment: Instant, _ record: any StoreRecord
  ) -> Bool? { nil }

  package func answer(
    _ question: RefundQuestion, with evidence: RefundEvidence
  ) throws(APIFailure) {
    throw .refused(status: 0, "\(traits.title) asks nothing before a refund")
  }

  /// The subscription that the fact is, or is a part of.
  package func subscriptions(
    changedBy fact: Fact, _ links: any LinkReader
  ) throws -> [ObjectKey] {
    let wholes = fact.links.filter { $0.kind == .part && $0.origin == fact.key }.map { $0.target }
    return wholes.isEmpty ? [fact.key] : wholes
  }

  package static var configuration: any StoreConfiguration.Type { Configuration.self }

  /// The store with its own one of the configurations; switched off if there is none.
  package static func configured(
    among configurations: [any StoreConfiguration],
    transport: (String) -> any ProviderTransport, clock: Clock
  ) throws(StoreSetupError) -> Self {
    for case let own as Configuration in configurations {
      return try Self(own, transport: transport(Configuration.store), clock: clock)
    }
    return Self()
  }

  /// A subscription about which nothing is known yet.
  package func subscription(_ key: ObjectKey) -> Subscription {
    Subscription(key, Record(id: key.id))
  }

  /// The content as stored in a mirror's row. Equal contents give equal texts.
  package func stored(_ object: AnyStoreObject) -> String {
    guard let object = object.base as? Record.Object else {
      preconditionFailure("the object is another store's")
    }
    return String(decoding: object.stored().encoded(), as: UTF8.self)
  }

  /// Reads what `stored` wrote.
  package func object(stored text: String, kind: ObjectKey.Kind) throws -> AnyStoreObject {
    let json = try JSON.parse(Array(text.utf8), limits: .stored)
    return AnyStoreObject(try Record.Object(stored: json, kind: kind))
  }
}

/// The values in which stores differ, and which control the ledger.
package struct StoreTraits: Sendable {
  /// The store's name for people, as used in the middle of a sentence.
  package let title: String
  /// The kind of the objects that identify a subscription.
  package var subscriptionKind = ObjectKey.Kind.subscription
  /// The kinds of all its objects that have ids, including `subscriptionKind`.
  package var kinds: [ObjectKey.Kind]
  /// The prefix of a subscription's id that no other id has; nil if there is none.
  package var subscriptionIDPrefix: String?
  /// A description of a subscription's id, as used in the middle of a sentence.
  package var subscriptionIDForm = "an id"
  /// An id that the store never issued. The answer to it shows whether the store accepts our requests.
  package var unknownID = ""
  /// The kinds of the objects that have the subscription's id and show the subscription itself.
  package var shownBy: [ObjectKey.Kind]
  /// Whether a purchase may continue another one, and then has that one's owner.
  package var hasSuccessors = false
  /// Whether its answers carry a time. Otherwise the number of the read orders them.
  package var hasClock = true
  /// Whether it reports each period. Otherwise it shows only how a purchase is now.
  package var tellsPeriods = true
  /// How many further reads must confirm a read, because replicas may not know of a change yet.
  package var confirmationCount = 0
  /// Whether its API may still return the old state for a while after it announced a change.
  package var announcesFirst = false
  /// Whether a key of its API is valid in only one of its two environments.
  package var hasOneEnvironment = false
  /// Whether an object is read by a secret that only deliveries and customers know.
  package var readsBySecret = false
  /// Whether it forgets purchases that ended long ago. Then the last read remains valid.
  package var forgets = false
  /// Whether no list shows the state of its subscriptions, so that each must be read.
  package var isReadOneByOne = false
  /// How many of the newest parts a read fetches one by one, and `parts(named:)` many at once; 0: a read returns
  /// everything in one answer.
  package var partsRead = 0
  /// The orders that operators can give.
  package var orders: Set<StoreOrder.Kind> = []
  /// The page on which customers manage their purchases; nil if they do so on this server.
  package var managePage: String?
  /// Whether customers manage their purchases by requests to this server, at `/v1/<store>/…`.
  package var isManagedHere = false
  /// The stores from which customers may move to this one, as their programmes allow and the operator decided.
  package var takesOver: Set<String> = []
  /// Whether purchases end by themselves and belong to no programme, so that any customer may move away.
  package var isPrepaid = false
  /// Whether a subscription's id is that of the account that pays, which then has only this one here.
  package var isNamedByAccount = false
  /// What to do instead of an order that the store does not support.
  package var orderAdvice = ""
  /// Whether a payment can only be refunded in full.
  package var refundsWholeOnly = false
  /// The most days that one order may give.
  package var extensionDaysMax: Int64 = 0
  /// How long its question before a refund waits for an answer; nil: it never asks.
  package var refundAnswerSpan: Instant.Span?
  /// Whether a purchase with an unpaid last period ends as soon as its renewal is stopped.
  package var endsUnpaidAtOnce = false
  /// Whether ending a purchase refunds its last payment.
  package var refundsAtEnd = false
  /// The time after which the store refunds a purchase that is not acknowledged; nil: never.
  package var acknowledgementSpan: Instant.Span?
  /// Hours after a purchase at which an operator is alerted that it is not acknowledged.
  package var acknowledgementAlarmHours: [Int64] = []
  /// Whether its deliveries' ids, as we form them, begin with the webhook's id and a colon.
  package var deliveriesNameWebhook = false
  /// The notes that its decoders may make, as metrics labels.
  package var notes: [String] = []

  package init(
    title: String, shownBy: [ObjectKey.Kind] = [.subscription], kinds: [ObjectKey.Kind]
  ) {
    self.title = title
    self.shownBy = shownBy
    self.kinds = kinds
  }
}

/// An object that can be stored in a row.
package protocol StoredObject: StoreObject {
  /// The content as JSON; equal contents give equal bytes.
  func stored() -> JSONValue

  /// Reads what `stored` wrote.
  init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError)
}

/// Reads the stored links between objects.
package protocol LinkReader {
  /// The origins of links of this kind to an object, ascending.
  func origins(of kind: Link.Kind, to target: ObjectKey) throws -> [ObjectKey]

  /// The facts of an object, and of all objects that are linked to it by bridges, directly or through others.
  func bridged(to key: ObjectKey) throws -> [Fact]
}

/// A certificate that a store's signatures lead to.
package struct StoreCertificate: Sendable {
  package let name: String
  package let notAfter: Instant

  package init(name: String, notAfter: Instant) {
    self.name = name
    self.notAfter = notAfter
  }
}

/// A purchase as a device claims it.
package struct ClaimedPurchase: Sendable {
  package let subscription: ObjectKey
  package let delivery: DecodedDelivery
  /// Whether the store signed it. Otherwise it must be read before it gets an owner.
  package let isProven: Bool

  package init(subscription: ObjectKey, delivery: DecodedDelivery, isProven: Bool) {
    self.subscription = subscription
    self.delivery = delivery
    self.isProven = isProven
  }
}
