import Base
import ClaimingDevice
import Crypto
import DescribedAPI
import HTTPServer
import JSON
import KnownStores
import RecordedStories
import Stores
import TestEngines
import TestFiles
import Testing

/// An account's overview of what it pays for.
struct OverviewTests {
  /// The overview and payments of a story's account after each of its steps.
  private static func told(_ name: String) throws -> [(at: Instant, overview: JSON, paid: JSON)] {
    let story = try #require(RecordedStory.all.first { $0.name == name })
    let installation = try RecordedInstallation(story, .sqlite)
    return try story.steps.map { step in
      try installation.play(step, place: "\(name) \(step.at)")
      return (
        step.at, try installation.overview(at: step.at), try installation.payments(at: step.at)
      )
    }
  }

  @Test func `the state of an account is that of the story, whatever its store`() throws {
    let states = try Dictionary(
      uniqueKeysWithValues: [
        "stripe/2026-07-29.dahlia/failed-payment-lapse", "apple/failed-grace-lapse",
        "google/failed-hold-recovery", "google/pause-resume",
      ].map { name in
        var states = try Self.told(name).compactMap { $0.overview["state"].string }
        states = states.indices.filter { $0 == 0 || states[$0] != states[$0 - 1] }.map {
          states[$0]
        }
        return (name, states)
      })
    #expect(
      states["stripe/2026-07-29.dahlia/failed-payment-lapse"]
        == ["none", "pending", "active", "grace", "on_hold", "expired"], "\(states)")
    #expect(
      states["apple/failed-grace-lapse"] == ["none", "active", "grace", "on_hold", "expired"],
      "\(states)")
    #expect(
      states["google/failed-hold-recovery"] == ["none", "active", "grace", "on_hold", "active"],
      "\(states)")
    #expect(states["google/pause-resume"] == ["none", "active", "paused", "active"], "\(states)")
  }

  @Test func `who has a declined card is told so, until when the plan stays, and how to mend it`()
    throws
  {
    let told = try Self.told("apple/failed-grace-lapse")
    let grace = try #require(told.first { $0.overview["state"].string == "grace" })
    #expect(grace.overview["problem"]["code"].string == "payment_failed")
    #expect(grace.overview["reason"].string == "grace")
    let until = try #require(grace.overview["grace"]["until"].string)
    #expect(try grace.at < #require(Instant(rfc3339: until)))
    #expect(
      grace.overview["subscriptions"][0]["actions"][0]["url"].string
        == "https://apps.apple.com/account/subscriptions")
    let held = try #require(told.first { $0.overview["state"].string == "on_hold" })
    #expect(held.overview["problem"]["code"].string == "payment_failed")
    #expect(held.overview["grace"].isNull)
  }

  @Test func `a pause is told for what it is, with its beginning where the store tells it`() throws
  {
    let told = try Self.told("google/pause-resume")
    let paused = try #require(told.first { $0.overview["state"].string == "paused" }?.overview)
    #expect(paused["problem"]["code"].string == "paused")
    #expect(paused["subscriptions"][0]["paused"]["reason"].string == "requested")
    let ended = try #require(
      try Self.told("stripe/2026-07-29.dahlia/trial-then-paused")
        .first { $0.overview["state"].string == "paused" }?.overview)
    #expect(ended["problem"]["code"].string == "paused")
    #expect(ended["subscriptions"][0]["paused"]["reason"].string == "unknown")
  }

  @Test(arguments: [
    "stripe/2026-07-29.dahlia/cancel-at-period-end", "apple/cancel-and-lapse",
    "google/failed-hold-canceled-expired",
  ])
  func `what does not renew says until when it is valid`(name: String) throws {
    let told = try Self.told(name)
    for (at, overview, _) in told
    where overview["state"].string == "active" && overview["will_renew"].bool == false {
      let until = try #require(overview["valid_until"].string)
      #expect(try at < #require(Instant(rfc3339: until)), "\(name)")
      #expect(overview["access_ends"].string == until, "\(name)")
    }
    #expect(told.last?.overview["access_ends"].isNull == true)
  }

  @Test(arguments: [
    ("stripe/2026-07-29.dahlia/refund-of-the-current-period", ["paid"], ["refund done"]),
    ("apple/refund-current", ["paid"], ["refund done"]),
    ("google/renewal", ["paid", "paid", "paid"], []),
  ])
  func `what was paid and what went back is told, the newest first, whatever the store`(
    name: String, payments: [String], reversals: [String]
  ) throws {
    let paid = try #require(try Self.told(name).last?.paid)
    let rows = paid["payments"].array ?? []
    #expect(rows.compactMap { $0["state"].string } == payments)
    let times = rows.map { $0["at"].string ?? "" }
    #expect(times == times.sorted(by: >))
    let back = (paid["reversals"].array ?? []).map {
      "\($0["kind"].string ?? "") \($0["state"].string ?? "")"
    }
    #expect(back == reversals)
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `every picture of every tenth story is what the description promises`() throws {
    var exchanges: [JSONValue] = []
    for story in RecordedStory.all.enumerated().filter({ $0.offset % 10 == 3 }).map(\.element) {
      for (_, overview, paid) in try Self.told(story.name) {
        for (target, json) in [("/v1/subscription", overview), ("/v1/payments", paid)] {
          let body = try #require(JSONValue(json)).encoded()
          exchanges.append(
            OpenAPIValidator.exchange(
              "GET", target, status: 200, headers: [("Content-Type", "application/json")],
              body: body))
        }
      }
    }
    #expect(exchanges.count > 20)
    try expectDescribed(exchanges)
  }
}

/// The routes `GET /v1/subscription` and `GET /v1/plans`.
struct ClientRouteTests {
  private let ada = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `only the account's own devices read what it pays for`(engine: TestEngine) throws {
    let shop = try Shop(engine)
    let device = try shop.device(of: ada)
    let own = try device.read("/v1/subscription", at: shop.now, through: shop.routes)
    #expect(own.status == 200)
    #expect(own.json["account"].string == ada.description)
    #expect(own.json["state"].string == "none")
    let paid = try device.read("/v1/payments", at: shop.now, through: shop.routes)
    #expect(paid.status == 200)
    #expect(paid.json["payments"].array?.isEmpty == true)
    try shop.forget(ada)
    let forgotten = try device.read("/v1/subscription", at: shop.now, through: shop.routes)
    #expect(forgotten.status == 401)
    #expect(forgotten.json["type"].string == "urn:coffer:problem:unknown_key")
    let nobody = try ClaimingDevice.read(
      "/v1/subscription", headers: [], through: shop.routes)
    #expect(nobody.json["type"].string == "urn:coffer:problem:not_authenticated")
  }

  @Test func `a session of the sync API opens it, until it is over`() throws {
    let shop = try Shop()
    let token = try shop.session(of: shop.device(of: ada), expires: shop.now + .hours(1))
    let headers = [("Authorization", "Bearer " + token)]
    #expect(
      try ClaimingDevice.read("/v1/subscription", headers: headers, through: shop.routes).status
        == 200)
    shop.now = shop.now + .hours(1)
    let late = try ClaimingDevice.read("/v1/subscription", headers: headers, through: shop.routes)
    #expect(late.json["type"].string == "urn:coffer:problem:session_invalid")
  }

  @Test func `an account that asks on and on waits, and its neighbour does not`() throws {
    let shop = try Shop()
    let routes = shop.routes
    let (device, other) = (try shop.device(of: ada), try shop.device(of: Random.identifier()))
    var last = try device.read("/v1/subscription", at: shop.now, through: routes)
    for _ in 0..<400 where last.status == 200 {
      last = try device.read("/v1/subscription", at: shop.now, through: routes)
    }
    #expect(last.status == 429)
    #expect(try other.read("/v1/subscription", at: shop.now, through: routes).status == 200)
  }

  @Test func `anybody reads the plans, with prices, limits and each store's ids`() throws {
    let shop = try Shop()
    let plans = try ClaimingDevice.read("/v1/plans", headers: [], through: shop.routes)
    #expect(plans.status == 200)
    let plan = plans.json["plans"][0]
    #expect(plan["limits"]["bytes"].integer == 1000)
    #expect(plan["limits"]["records"].isNull)
    #expect(plan["products"][0]["store"].string == "apple")
  }

  @Test func `every route for clients is described, and nothing else is`() throws {
    let shop = try Shop()
    let document = try ClaimingDevice.read("/openapi.json", headers: [], through: shop.routes).json
    var described: Set<String> = []
    for (path, item) in document["paths"].members ?? [] {
      for (name, _) in item.members ?? [] { described.insert(name.uppercased() + " " + path) }
    }
    let served = shop.routes.filter { !$0.pattern.hasPrefix("/webhooks/") }
    #expect(described == Set(served.map { "\($0.method) \($0.pattern)" }))
  }

  @Test func `a claim is described with the members that the stores read`() throws {
    let shop = try Shop()
    let document = try ClaimingDevice.read("/openapi.json", headers: [], through: shop.routes).json
    let described = document["components"]["schemas"]["Claim"]["properties"].members ?? []
    #expect(
      Set(described.map { $0.name })
        == Set(StoreList.known.compactMap { $0.claimMember } + ["provider"]))
  }
}
