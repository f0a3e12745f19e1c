import Base
import BillingSimulation
import Google
import HTTPMessages
import KnownStores
import Ledger
import ProviderAPI
import ProviderFakes
import Storage
import Stores
import Stripe
import Subscriptions
import TestEngines
import Testing
import Tiers

/// Lists that never reach their end, or that contain something unreadable.
struct ListingFaultTests {
  @Test func `a list whose place is refused is begun anew, and not without end`() throws {
    let stripe = OddStripe(refusesPlaces: true)
    let installation = try Installation(.sqlite, stripe.stores)
    installation.now = OddStripe.now
    try installation.beginReconciling()
    for _ in 0..<600 {
      installation.now = installation.now + .seconds(1)
      try installation.runDue()
    }
    let pages = stripe.requestCount
    #expect((2...20).contains(pages), "\(pages) pages in ten minutes")
    #expect(stripe.firstPageCount >= 2)
    #expect(try installation.reconciliations().allSatisfy { $0.ended == nil })
  }

  @Test func `what a list tells and nobody can read is counted like a delivery`() throws {
    let stripe = OddStripe(refusesPlaces: false)
    let installation = try Installation(.sqlite, stripe.stores)
    installation.now = OddStripe.now
    let before = Self.undecodableCount
    try installation.reconcile()
    #expect(Self.undecodableCount > before)
    #expect(try installation.reconciliations().map(\.counts.disputed) == [1])
  }

  /// As if a rule of the schema refused what one delivery of a page means.
  @Test func `a delivery of a page that cannot be recorded stops neither the page nor the run`()
    throws
  {
    let stripe = ChangingStripe(eventCount: 3)
    let installation = try Installation(.sqlite, stripe.stores)
    installation.now = OddStripe.now + .days(1)
    try installation.database.write(for: nil) { transaction in
      try transaction.execute(
        """
        CREATE TRIGGER billing.poison BEFORE INSERT ON deliveries
        WHEN NEW.delivery_id = 'evt_1' AND NEW.disposition <> 'undecodable'
        BEGIN SELECT RAISE(ABORT, 'poisoned'); END
        """)
    }
    try installation.reconcile(isWhole: false)
    let run = try #require(try installation.reconciliations().first)
    #expect(run.ended != nil)
    #expect(run.counts.disputed == 1)
    let told = try installation.attention().filter { $0.kind == .undecodableDelivery }
    #expect(told.count == 1 && told[0].subject.contains("evt_1"), "\(told)")
    let kept = try installation.database.read { reader in
      try reader.rows(
        "SELECT delivery_id FROM billing.deliveries WHERE type = 'product.created' ORDER BY 1"
      ) { row in try row.text(0) }
    }
    #expect(kept == ["evt_0", "evt_1", "evt_2"])
  }

  /// Two reads so close together that it is not known which saw the newer state.
  @Test func `a subscription that is known in two ways is read, though its list shows one of them`()
    throws
  {
    let stripe = ChangingStripe()
    let installation = try Installation(.sqlite, stripe.stores)
    installation.now = OddStripe.now
    for isEnding in [false, true] {
      stripe.isEnding = isEnding
      installation.now = installation.now + .seconds(2)
      try installation.reread([ChangingStripe.key])
      try installation.runDue()
    }
    #expect(try installation.attention().map(\.kind).contains(.contradiction))
    installation.now = installation.now + .hours(1)
    try installation.reconcile(isWhole: false)
    #expect(try !installation.attention().map(\.kind).contains(.contradiction))
  }

  @Test func `a daily run reads a purchase before its paid time ends`() throws {
    let story = try #require(LivedStory.google.first { $0.name == "google/renewal" })
    let live = story.live()
    let installation = try Installation(.sqlite, live.stores)
    let first = try #require(live.deliveries.first)
    guard case .delivery(let request) = live.events[first].what else { return }
    installation.now = live.events[first].at
    #expect(try installation.deliver(request(installation.now)) == 200)
    // Its reads, their confirmation, and what remains of them.
    for _ in 0..<10 {
      installation.now = installation.now + .minutes(1)
      try installation.runDue()
    }
    let end = try #require(try installation.leewayBegin)
    installation.now = end - .hours(12)
    try installation.runDue()
    try installation.beginReconciling(isWhole: false)
    for _ in 0..<60 {
      installation.now = installation.now + .seconds(2)
      try installation.runDue()
    }
    let run = try #require(try installation.reconciliations().first { $0.provider == .google })
    #expect(run.ended != nil)
    #expect(run.counts.examined == 1)
  }

  private static var undecodableCount: Int64 {
    let name =
      #"coffer_billing_deliveries_total{provider="stripe",by="read",disposition="undecodable"} "#
    let line = Metrics.shared.render().split(separator: "\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int64($0.dropFirst(name.count)) } ?? 0
  }
}

/// A Stripe with one event, which is invalid.
private final class OddStripe: ProviderTransport {
  static let now = Instant(seconds: 1_790_000_000)

  private let refusesPlaces: Bool
  private let count = Locked(0)
  private let firstPages = Locked(0)

  init(refusesPlaces: Bool) { self.refusesPlaces = refusesPlaces }

  var requestCount: Int { count.withLock { $0 } }

  /// How often the list of events was read from its start.
  var firstPageCount: Int { firstPages.withLock { $0 } }

  func stores(_ clock: Clock) -> StoreList {
    StoreList.known(
      with: StripeStore(
        secrets: WebhookSecrets([Secret("whsec_odd")]),
        api: StripeAPI(
          base: "https://stripe.fake", key: Secret("sk_live_odd"), environment: .live,
          transport: self)))
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    count.withLock { $0 += 1 }
    let isPlaced = request.url.contains("starting_after")
    let isEvents = request.url.contains("/v1/events")
    if isEvents && !isPlaced { firstPages.withLock { $0 += 1 } }
    let items = isEvents ? #"{"id":"evt_odd","object":"event"}"# : ""
    let page = #"{"object":"list","data":[\#(items)],"has_more":\#(isEvents && refusesPlaces)}"#
    let refusal = #"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#
    return APIReply(
      status: isPlaced ? 400 : 200, headers: Headers([("Date", Self.now.httpDate)]),
      body: Array((isPlaced ? refusal : page).utf8), elapsed: .milliseconds(1))
  }
}

/// A Stripe with one subscription, which may be cancelled at the end of its period.
private final class ChangingStripe: ProviderTransport {
  static let key = ObjectKey(
    provider: .stripe, environment: .live, kind: .subscription, id: "sub_1")

  private let state = Locked(false)
  private let clock = Locked(Clock { OddStripe.now })
  private let events: String

  /// With `eventCount` events that concern nothing.
  init(eventCount: Int = 0) {
    events = (0..<eventCount).map { number in
      """
      {"id":"evt_\(number)","object":"event","type":"product.created","livemode":true,
      "created":1790000000,"api_version":"2025-03-31.basil",
      "data":{"object":{"id":"prod_1","object":"product"}}}
      """
    }.joined(separator: ",")
  }

  var isEnding: Bool {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  func stores(_ clock: Clock) -> StoreList {
    self.clock.withLock { $0 = clock }
    return StoreList.known(
      with: StripeStore(
        secrets: WebhookSecrets([Secret("whsec_odd")]),
        api: StripeAPI(
          base: "https://stripe.fake", key: Secret("sk_live_odd"), environment: .live,
          transport: self)))
  }

  func send(_ request: APIRequest) throws(APIFailure) -> APIReply {
    let subscription = """
      {"id":"sub_1","object":"subscription","customer":"cus_1","status":"active","livemode":true,
      "created":1789990000,"start_date":1789990000,"latest_invoice":null,"metadata":{},
      "cancel_at_period_end":\(isEnding),"collection_method":"charge_automatically",
      "items":{"object":"list","has_more":false,"data":[{"id":"si_1","object":"subscription_item",
      "current_period_start":1789990000,"current_period_end":1792668400,"quantity":1,
      "price":{"id":"price_1","object":"price","product":"prod_1"}}]}}
      """
    let path = request.url.dropFirst("https://stripe.fake/v1/".count).prefix { $0 != "?" }
    let body =
      switch path {
      case "subscriptions/sub_1": subscription
      case "customers/cus_1": #"{"id":"cus_1","object":"customer","livemode":true}"#
      case "subscriptions": #"{"object":"list","has_more":false,"data":[\#(subscription)]}"#
      case "events": #"{"object":"list","has_more":false,"data":[\#(events)]}"#
      default: #"{"object":"list","has_more":false,"data":[]}"#
      }
    let now = clock.withLock { $0 }.now()
    return APIReply(
      status: 200, headers: Headers([("Date", now.httpDate)]), body: Array(body.utf8),
      elapsed: .milliseconds(1))
  }
}

extension Installation {
  /// The end of the first paid time after which a renewal is expected; nil if there is none.
  fileprivate var leewayBegin: Instant? {
    get throws {
      try database.read { reader in
        try reader.first(
          "SELECT min(from_ms) FROM billing.entitlements WHERE reason = 'leeway'"
        ) { try $0.optionalInstant(0) } ?? nil
      }
    }
  }
}
