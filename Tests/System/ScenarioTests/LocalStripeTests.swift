import Base
import Configuration
import Glibc
import HTTPClient
import JSON
import LocalServer
import TestDevices
import TestEngines
import TestFiles
import Testing

/// The direct flow and a subscription's life against localstripe, an independent Stripe, with the real
/// programs.
///
/// `ops/interop/localstripe_front.py` lists what it cannot do.
@Suite(.enabled(if: pythonPath != nil, "COFFER_PYTHON is not set"))
struct LocalStripeTests {
  @Test func `an account buys, changes its mind, and loses its plan when it ends`() throws {
    let scene = try LocalStripeScene()
    #expect(try scene.done("subscription", scene.wish("pm_card_visa")) == "done")
    #expect(try scene.cap() == 5000)
    let subscription = try #require(try scene.subscriptions().first)
    #expect(subscription["status"].string == "active")

    #expect(try scene.done("cancel", .object([])) == "done")
    #expect(try scene.subscriptions().first?["cancel_at_period_end"].bool == true)
    #expect(try scene.done("uncancel", .object([])) == "done")
    #expect(try scene.subscriptions().first?["cancel_at_period_end"].bool == false)
    #expect(try scene.done("change", ["plan": "premium", "interval": "year"]) == "done")
    #expect(try scene.subscriptions().first?["plan"]["id"].string == "price_year")

    // It signs its events; the first one has arrived meanwhile.
    try scene.wait("no webhook came") {
      try scene.installation.command("event", "list").output.contains(
        "customer.subscription.created")
    }
    let id = try #require(subscription["id"].string)
    _ = try scene.stripe("DELETE", "/v1/subscriptions/\(id)")
    try scene.wait("the end was not heard of") { try scene.cap() == 10 }
    #expect(try scene.subscriptions().isEmpty)
  }

  @Test(arguments: ["pm_card_visa_chargeDeclined", "pm_card_chargeCustomerFail"])
  func `a card that it declines buys nothing`(card: String) throws {
    let scene = try LocalStripeScene()
    #expect(try scene.done("subscription", scene.wish(card)) == "card_declined")
    #expect(try scene.subscriptions().isEmpty)
    #expect(try scene.cap() == 10)
    #expect(try scene.done("subscription", scene.wish("pm_card_visa")) == "done")
    #expect(try scene.stripe("GET", "/v1/customers")["data"].array?.count == 1)
  }
}

/// Both programs, an account, and localstripe.
private struct LocalStripeScene {
  let installation: Installation
  private let front: ChildProcess
  private let plans: ScratchDirectory
  private let port: UInt16
  private let billing: Server
  private let account: TestDevice
  private let client = HTTPClient()

  private static let secret = "whsec_localstripe_0123456789"

  init() throws {
    port = Ports.free()
    let settings = [
      "COFFER_BILLING_AUTHORITIES": Installation.authority,
      "COFFER_STRIPE_WEBHOOK_SECRETS": Self.secret, "COFFER_STRIPE_API_KEY": "sk_test_12345",
      "COFFER_STRIPE_API_URL": "http://127.0.0.1:\(port)",
    ]
    plans = try ScratchDirectory()
    try Files.write(Self.plans, to: plans.path + "/plans.json")
    installation = try Installation(
      settings: settings.merging(["COFFER_PLANS": plans.path + "/plans.json"]) { $1 })
    front = try ChildProcess(
      try #require(pythonPath), ["ops/interop/localstripe_front.py", "\(port)"],
      environment: Launch.environment(), output: installation.directory + "/localstripe.log",
      errors: installation.directory + "/localstripe.log")
    billing = try installation.start(.billing)
    account = try installation.device(of: try installation.start(.sync))
    let log = installation.directory + "/localstripe.log"
    try wait("localstripe is not ready") { Files.text(log)?.contains("ready") == true }
    _ = try stripe("POST", "/v1/products", "id=prod_p&name=Premium&type=service")
    for (id, amount, interval) in [("price_month", 299, "month"), ("price_year", 3000, "year")] {
      _ = try stripe(
        "POST", "/v1/plans",
        "id=\(id)&product=prod_p&amount=\(amount)&currency=usd&interval=\(interval)")
    }
    _ = try stripe(
      "POST", "/_config/webhooks/coffer",
      "url=http://127.0.0.1:\(billing.port)/webhooks/stripe&secret=\(Self.secret)")
  }

  private static let plans = """
    {"version": "localstripe-1", "free": {"id": "free", "title": "Free", "bytes": 10},
     "plans": [{"id": "premium", "title": "Premium", "bytes": 5000, "products": [
       {"provider": "stripe", "product": "prod_p", "price": "price_month", "amount": 299,
        "currency": "usd", "interval": "month"},
       {"provider": "stripe", "product": "prod_p", "price": "price_year", "amount": 3000,
        "currency": "usd", "interval": "year"}]}]}
    """

  func wish(_ card: String) -> JSONValue {
    ["plan": "premium", "interval": "month", "payment_method": .string(card)]
  }

  /// The answer of localstripe; an empty object if it has no body.
  func stripe(_ method: String, _ target: String, _ form: String = "") throws -> JSON {
    let reply = try client.send(
      method, "http://127.0.0.1:\(port)\(target)",
      headers: [
        ("Authorization", "Bearer sk_test_12345"),
        ("Content-Type", "application/x-www-form-urlencoded"),
      ], body: method == "POST" ? Array(form.utf8) : nil, timeout: .seconds(10))
    guard reply.status == 200 else { throw ScenarioError("\(target): \(reply.status)") }
    return try JSON.parse(reply.body.isEmpty ? Array("{}".utf8) : reply.body)
  }

  func subscriptions() throws -> [JSON] {
    try stripe("GET", "/v1/subscriptions")["data"].array ?? []
  }

  func cap() throws -> Int64? { try account.get("/v1/account").json["cap"].integer }

  /// The result of a request: `done`, or its problem's code.
  func done(_ path: String, _ body: JSONValue) throws -> String? {
    let buyer = installation.device(of: billing, key: account.key)
    let answer = try buyer.post("/v1/stripe/\(path)", body)
    guard answer.status < 300, let flow = try answer.json["flow"].string else {
      throw UnexpectedAnswer(answer)
    }
    var end: String?
    try wait("the flow \(flow) never ends") {
      let json = try buyer.get("/v1/flows/\(flow)").json
      guard !json["closed"].isNull else { return false }
      let problem = json["problem"]["type"].string?.split(separator: ":").last.map(String.init)
      end = problem ?? json["status"].string
      return true
    }
    return end
  }

  func wait(_ complaint: String, until holds: () throws -> Bool) throws {
    for _ in 0..<400 {
      if try holds() { return }
      usleep(50_000)
    }
    throw ScenarioError(
      "\(complaint): \(Files.text(installation.directory + "/localstripe.log")?.suffix(600) ?? "")")
  }
}

/// A Python with the packages that `ops/test` installs; nil if COFFER_PYTHON is not set.
private let pythonPath: String? = {
  guard let text = unsafe getenv("COFFER_PYTHON"), unsafe text.pointee != 0 else { return nil }
  return unsafe String(cString: text)
}()
