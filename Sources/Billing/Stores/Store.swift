package import Base
package import Compression
package import Configuration
package import JSON
package import ProviderAPI
package import Subscriptions
package import Tiers

/// How a store joins in: everything that is peculiar to it, behind one door.
///
/// One value for each store, whether this deployment deals with it or not: what is stored of its
/// purchases is read and derived in any case. What needs settings is absent where they are.
package protocol Store: Sendable {
  associatedtype Record: StoreRecord where Record.Object: StoredObject
  associatedtype Configuration: StoreConfiguration

  /// Switched off: nothing is received, read or claimed.
  init()

  /// As configured; `transport` makes the way to its API.
  init(
    _ configuration: Configuration, transport: any ProviderTransport, clock: Clock
  ) throws(StoreSetupError)

  var provider: ObjectKey.Provider { get }

  /// In what it differs from the others, as values.
  var traits: StoreTraits { get }

  /// Makes what is kept of its deliveries short; it opens whatever it ever made.
  var compressor: Compressor { get }

  /// The subscriptions that a fact of this store can change; its links are written already.
  func subscriptions(changedBy fact: Fact, _ links: any LinkReader) throws -> [ObjectKey]

  /// Whether a key may name a subscription by this id: one of the letters and the length of those that
  /// the store gives.
  func isSubscriptionID(_ text: String) -> Bool

  /// What a number of the store's names that people have from it, told by its form alone; nil for what
  /// is none. `environment` is whose it is taken for.
  func purchase(named number: String, in environment: StoreEnvironment) -> NamedPurchase?

  /// The objects that a text names, known or not, as somebody copied it out of the store's own pages or
  /// an app: by their ids, unless it is a secret that stands for one.
  func keys(named text: String) -> [ObjectKey]

  /// Asks the store which subscriptions a customer bought with an order, by the number on the receipt; nil where
  /// the text is no such number, or its orders have none that it tells otherwise.
  ///
  /// Throws `.misconfigured` where there is nothing to ask with.
  func subscriptions(boughtBy order: String) throws(APIFailure) -> [ObjectKey]?

  /// The terms that a text may have been kept under.
  func terms(searchedBy text: String) -> [String]

  /// How its deliveries are proven and decoded; nil where the store is off.
  var webhook: Webhook? { get }

  /// What a kept delivery of a webhook, or of a claim, says to the decoder of today.
  func delivered(again kept: KeptMessage) throws -> DecodedDelivery

  /// The same of an answer to a read: what it shows, without what it would have read next.
  func answered(
    again kept: KeptMessage, to key: ObjectKey, readNumber: Int64
  ) throws -> StoreAnswer

  /// Whether objects can be read again.
  var isReadable: Bool { get }

  /// Reads an object again from the store.
  ///
  /// Throws `.misconfigured` where there is nothing to ask with.
  func read(_ request: StoreRead) throws(APIFailure) -> StoreAnswer

  /// Parts of subscriptions as they are now, in few requests; what it does not give out is left out.
  /// For stores with `traits.partsRead`.
  func parts(named keys: [ObjectKey]) throws(APIFailure) -> [Fact]

  /// The lists in which it tells again what it told; none where it cannot be asked.
  var listings: [StoreListing] { get }

  /// Reads one page of a list: a bounded number of requests.
  func page(_ request: StorePageRequest) throws(APIFailure) -> StorePage

  /// What its signatures are proven by, where it is a certificate.
  var certificates: [StoreCertificate] { get }

  /// The member of a claim in which a device sends its purchase; nil where none can be claimed.
  var claimMember: String? { get }

  /// What a device says that it bought.
  ///
  /// Throws a `JSONError` for what is no purchase, a `WebhookRefusal` for what the store did not sign.
  func claimed(_ json: JSON, at now: Instant) throws -> ClaimedPurchase

  /// Tells the store that a purchase was delivered to its owner.
  func acknowledge(
    _ request: StoreRead, _ record: any StoreRecord, for owner: Identifier
  ) throws(APIFailure)

  /// Does what an operator orders, one of `traits.orders`. Doing it again changes nothing.
  func perform(
    _ order: StoreOrder, _ request: StoreRead, _ record: any StoreRecord
  ) throws(APIFailure)

  /// The reason by which a read learns what such an order was about; nil where any read tells what became
  /// of it.
  func readReason(after order: StoreOrder) -> String?

  /// Whether what was read last shows what a notification announced at `moment`, whose reason to read it was;
  /// nil where that announces nothing. `traits.announcesFirst` says that it is asked.
  func shows(_ reason: String, announced moment: Instant, _ record: any StoreRecord) -> Bool?

  /// Tells the store what it asked before it decides on a refund. Telling it again changes nothing.
  func answer(_ question: RefundQuestion, with evidence: RefundEvidence) throws(APIFailure)
}

extension Store {
  package var compressor: Compressor { .plain }

  package func isSubscriptionID(_ text: String) -> Bool { isID(text) }

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
    throw JSONError(code: .wrongType, path: json.path, message: "cannot be claimed")
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

  /// What it is, or what it is part of.
  package func subscriptions(
    changedBy fact: Fact, _ links: any LinkReader
  ) throws -> [ObjectKey] {
    let wholes = fact.links.filter { $0.kind == .part && $0.origin == fact.key }.map { $0.target }
    return wholes.isEmpty ? [fact.key] : wholes
  }

  package static var configuration: any StoreConfiguration.Type { Configuration.self }

  /// As it is configured among others, else switched off.
  package static func configured(
    among configurations: [any StoreConfiguration],
    transport: (String) -> any ProviderTransport, clock: Clock
  ) throws(StoreSetupError) -> Self {
    for case let own as Configuration in configurations {
      return try Self(own, transport: transport(Configuration.store), clock: clock)
    }
    return Self()
  }

  /// A subscription of which nothing is known yet.
  package func subscription(_ key: ObjectKey) -> Subscription {
    Subscription(key, Record(id: key.id))
  }

  /// The content as a mirror's row holds it: equal contents give equal texts.
  package func stored(_ object: AnyStoreObject) -> String {
    guard let object = object.base as? Record.Object else {
      preconditionFailure("the object is another store's")
    }
    return String(decoding: object.stored().encoded(), as: UTF8.self)
  }

  /// Reads what `stored` wrote.
  package func object(stored text: String, kind: ObjectKey.Kind) throws -> AnyStoreObject {
    AnyStoreObject(try Record.Object(stored: try JSON.parse(Array(text.utf8)), kind: kind))
  }
}

/// In what stores differ, as values that the ledger obeys.
package struct StoreTraits: Sendable {
  /// What people call it, in the middle of a sentence.
  package let title: String
  /// The kind of the objects that a subscription is named by.
  package var subscriptionKind = ObjectKey.Kind.subscription
  /// The kinds of all its objects that have ids, that one among them.
  package var kinds: [ObjectKey.Kind]
  /// What an id of a subscription begins with and nobody else's does; nil where nothing tells.
  package var subscriptionIDPrefix: String?
  /// What an id of a subscription looks like, in the middle of a sentence.
  package var subscriptionIDForm = "an id"
  /// An id of the right form that it never gave: what it says of it shows whether it answers us.
  package var unknownID = ""
  /// The kinds of the objects, named like the subscription, that show the subscription itself.
  package var shownBy: [ObjectKey.Kind]
  /// Whether a purchase may continue another, whose owner it has then.
  package var hasSuccessors = false
  /// Whether its answers tell a time; else the number of a read is what orders them.
  package var hasClock = true
  /// Whether it tells what each period was; else only how a purchase stands now, for all of its time.
  package var tellsPeriods = true
  /// How many reads must confirm a read, because replicas may not have heard of a change.
  package var confirmationCount = 0
  /// Whether it may answer for a while as it did before what it announced.
  package var announcesFirst = false
  /// Whether its key opens one of its two worlds only.
  package var hasOneEnvironment = false
  /// Whether an object is read by a secret that only deliveries and customers know.
  package var readsBySecret = false
  /// Whether it forgets purchases long over: what was read last still holds.
  package var forgets = false
  /// Whether no list shows how its subscriptions are, so that each must be read to know.
  package var isReadOneByOne = false
  /// How many of the newest parts a read looks at one by one, and `parts(named:)` many at once; 0: a
  /// read shows all in one.
  package var partsRead = 0
  /// What operators can have it do.
  package var orders: Set<StoreOrder.Kind> = []
  /// Where its customers manage what they bought; nil where that is done here.
  package var managePage: String?
  /// Whether customers manage what they bought by wishes to this server, at `/v1/<store>/…`.
  package var isManagedHere = false
  /// The stores that customers may leave for this one, as their programmes allow; by the operator's word.
  package var takesOver: Set<String> = []
  /// Whether what is bought ends by itself and belongs to no programme, so that anybody may leave.
  package var isPrepaid = false
  /// Whether a subscription is named by the account that pays for it, and is all that it ever pays there.
  package var isNamedByAccount = false
  /// Where that is done of which it does nothing here.
  package var orderAdvice = ""
  /// Whether a payment goes back whole or not at all.
  package var refundsWholeOnly = false
  /// How many days one order may give.
  package var extensionDaysMax: Int64 = 0
  /// How long what it asks before a refund waits for an answer; nil: it never asks.
  package var refundAnswerSpan: Instant.Span?
  /// Whether a purchase whose last period is not paid for ends as soon as nothing is to be billed any more.
  package var endsUnpaidAtOnce = false
  /// Whether ending a purchase gives its last payment back.
  package var refundsAtEnd = false
  /// How long after a purchase the store takes it back unless it is acknowledged; nil: never.
  package var acknowledgementSpan: Instant.Span?
  /// Hours after a purchase at which an operator hears that it is not acknowledged.
  package var acknowledgementAlarmHours: [Int64] = []
  /// Whether its deliveries' ids begin with that of the webhook and a colon, as ours name them.
  package var deliveriesNameWebhook = false
  /// What its decoders may note, as metrics labels.
  package var notes: [String] = []

  package init(
    title: String, shownBy: [ObjectKey.Kind] = [.subscription], kinds: [ObjectKey.Kind]
  ) {
    self.title = title
    self.shownBy = shownBy
    self.kinds = kinds
  }
}

/// An object that can be kept in a row.
package protocol StoredObject: StoreObject {
  /// The content as JSON; equal contents give equal bytes.
  func stored() -> JSONValue

  /// Reads what `stored` wrote.
  init(stored json: JSON, kind: ObjectKey.Kind) throws(JSONError)
}

/// What is stored about how objects hang together.
package protocol LinkReader {
  /// The origins of such links to an object, ascending.
  func origins(of kind: Link.Kind, to target: ObjectKey) throws -> [ObjectKey]

  /// What is known of an object, and of those that are linked to it by bridges, however far.
  func bridged(to key: ObjectKey) throws -> [Fact]
}

/// A certificate that a store's word leads to.
package struct StoreCertificate: Sendable {
  package let name: String
  package let notAfter: Instant

  package init(name: String, notAfter: Instant) {
    self.name = name
    self.notAfter = notAfter
  }
}

/// What a device says that it bought.
package struct ClaimedPurchase: Sendable {
  package let subscription: ObjectKey
  package let delivery: DecodedDelivery
  /// Whether the store signed what came; else it must be read before anybody owns it.
  package let isProven: Bool

  package init(subscription: ObjectKey, delivery: DecodedDelivery, isProven: Bool) {
    self.subscription = subscription
    self.delivery = delivery
    self.isProven = isProven
  }
}
