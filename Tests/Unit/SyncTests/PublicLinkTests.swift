import Accounts
import Base
import Crypto
import HTTPServer
import JSON
import PublicLinks
import Storage
import Sync
import TestDevices
import Testing

/// Public links: ciphertext for whoever has the URL, without an account.
@Suite struct PublicLinkTests {
  /// Monotonic time that stands still until the test moves it.
  private let uptime = Locked(MonotonicTime.now())

  private func server(_ place: ContentPlace, bytesPerDay: Int64 = 10_000_000_000) throws
    -> TestServer
  {
    var limits = SyncLimits()
    limits.linkBytesPerDay = bytesPerDay
    return try TestServer(place.engine, limits: limits, objects: place.store) { [uptime] in
      uptime.withLock { $0 }
    }
  }

  @Test(arguments: ContentPlace.all)
  func `anyone with the link reads the content, or a range of it, or that it is the same`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let content = Random.bytes(50_000)
    let answer = try device.publish(Random.identifier(), content)
    #expect(answer.status == 201)
    #expect(answer.header("ETag") == "\"1\"")
    let token = try #require(try answer.json["token"].string)
    let all = try server.fetch(token)
    #expect(all.status == 200)
    #expect(all.holds(content))
    #expect(all.header("ETag") == "\"1\"")
    let part = try server.fetch(token, headers: [("Range", "bytes=10-19")])
    #expect(part.status == 206)
    #expect(part.holds(Array(content[10..<20])))
    #expect(part.header("Content-Range") == "bytes 10-19/50000")
    #expect(try server.fetch(token, headers: [("If-None-Match", "\"1\"")]).status == 304)
    let head = try server.fetch(token, "HEAD")
    #expect(head.status == 200 && head.body.isEmpty)
    #expect(try server.fetch(token, headers: [("Range", "bytes=60000-")]).status == 416)
  }

  @Test(arguments: ContentPlace.all)
  func `no answer of a link ever acts as a page, and pages of any origin may read it`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let (_, token) = try device.published(Array("<script>alert(1)</script>".utf8))
    let answers = [
      try server.fetch(token, headers: [("Accept", "text/html")]),
      try server.fetch(token, headers: [("Range", "bytes=0-3")]),
      try server.fetch(token, headers: [("If-None-Match", "*")]),
      try server.fetch("none"),
    ]
    #expect(answers.map(\.status) == [200, 206, 304, 404])
    for answer in answers {
      #expect(answer.header("Content-Security-Policy")?.hasPrefix("sandbox") == true)
      #expect(answer.header("X-Content-Type-Options") == "nosniff")
      #expect(answer.header("Content-Disposition") == "attachment")
      #expect(answer.header("Access-Control-Allow-Origin") == "*")
      #expect(answer.header("Access-Control-Allow-Credentials") == nil)
      #expect(answer.header("Content-Type")?.contains("html") != true)
    }
    #expect(answers[0].header("Content-Type") == "application/octet-stream")
  }

  @Test func `a browser that asks for a page of any origin is told what that may send`() throws {
    let server = try TestServer()
    let answer = try server.fetch(
      "none", "OPTIONS",
      headers: [
        ("Origin", "https://elsewhere.example"), ("Access-Control-Request-Method", "GET"),
        ("Access-Control-Request-Headers", "if-none-match,range"),
      ])
    #expect(answer.status == 204)
    #expect(answer.header("Access-Control-Allow-Origin") == "*")
    #expect(answer.header("Access-Control-Allow-Methods") == "GET, HEAD")
    let sent = answer.header("Access-Control-Allow-Headers") ?? ""
    #expect(sent == "If-Match, If-None-Match, If-Range, Range")
    #expect(answer.header("Access-Control-Max-Age") == "7200")
    #expect(answer.header("Access-Control-Allow-Credentials") == nil)
  }

  @Test(arguments: ContentPlace.all)
  func `a link ends when its owner said, and copies may be kept for as long as its owner said`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let usage = try device.usage()
    let end = server.clock.now.seconds + 100
    let (_, token) = try device.published([1], "?expires=\(end)&max_age=60")
    let (_, other) = try device.published([2])
    #expect(try server.fetch(token).header("Cache-Control") == "public, max-age=60")
    #expect(try server.fetch(other).header("Cache-Control") == "no-store")
    server.clock.advance(.seconds(90))
    #expect(try server.fetch(token).header("Cache-Control") == "public, max-age=10")
    server.clock.advance(.seconds(10))
    let ended = try server.fetch(token)
    #expect(try ended.problem == "link_not_found")
    #expect(ended.header("Cache-Control") == "no-store")
    #expect(try server.fetch(other).holds([2]))
    try server.sweeper().sweep()
    #expect(try server.count("public_links") == 1)
    #expect(try device.usage() == usage + 1001)
    for query in ["?expires=\(server.clock.now.seconds)", "?expires=x", "?max_age=86401"] {
      let refused = try device.publish(Random.identifier(), [1], query)
      #expect(try refused.problem == "link_terms_invalid")
    }
    #expect(try server.count("public_links") == 1)
    try server.requireLinks(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a link that has ended gets no token, and makes way for another under its id`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let usage = try device.usage()
    let (id, token) = try device.published([1], "?expires=\(server.clock.now.seconds + 100)")
    server.clock.advance(.seconds(100))
    let renewal = device.sign("POST", "/v1/public/\(id)/token")
    #expect(try device.send(renewal).problem == "link_not_found")
    #expect(try device.publish(id, [2], ifMatch: "\"1\"").problem == "version_changed")
    let next = try device.publish(id, [2])
    #expect(next.status == 201)
    let other = try #require(try next.json["token"].string)
    #expect(try server.fetch(other).holds([2]))
    #expect(try server.fetch(token).problem == "link_not_found")
    #expect(try device.usage() == usage + 1001)
    #expect(try server.count("garbage") == 1)
    try server.requireLinks(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a revoked link answers nothing from then on, nor does the token that another replaced`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let (device, other) = (try server.register(), try server.register())
    let usage = try device.usage()
    let (id, token) = try device.published([1, 2, 3])
    #expect(try other.unpublish(id).problem == "link_not_found")
    let renewal = device.sign("POST", "/v1/public/\(id)/token")
    let renewed = try device.send(renewal)
    #expect(renewed.status == 201)
    let next = try #require(try renewed.json["token"].string)
    #expect(try device.send(renewal).problem == "replayed")
    #expect(try server.fetch(token).problem == "link_not_found")
    #expect(try server.fetch(next).holds([1, 2, 3]))
    #expect(try device.unpublish(id).status == 204)
    #expect(try server.fetch(next).problem == "link_not_found")
    #expect(try device.unpublish(id).problem == "link_not_found")
    #expect(try device.usage() == usage)
    try server.requireLinks(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a content replaces the one that its device knows, under the same token`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let (id, token) = try device.published([1])
    #expect(try device.publish(id, [2], ifMatch: nil).problem == "precondition_required")
    let stale = try device.publish(id, [2])
    #expect(try stale.problem == "version_changed")
    #expect(try stale.json["current_version"].integer == 1)
    let replaced = try device.publish(id, [2, 3], ifMatch: "\"1\"")
    #expect(replaced.status == 200)
    #expect(try replaced.json["token"].isNull)
    let read = try server.fetch(token)
    #expect(read.holds([2, 3]))
    #expect(read.header("ETag") == "\"2\"")
    #expect(try server.count("garbage") == 1)
    #expect(try server.count("reservations") == 0)
    try server.requireLinks(device)
  }

  @Test(arguments: ContentPlace.all)
  func `a repeated request stores nothing again and gets no token, which no row has`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let id = Random.identifier()
    let request = device.sign(
      "PUT", "/v1/public/\(id)", body: [1], headers: [("If-Match", "\"0\"")])
    let first = try device.send(request)
    let token = try #require(try first.json["token"].string)
    let second = try device.send(request)
    #expect(second.status == 201)
    #expect(try second.json["token"].isNull)
    #expect(try second.json["version"].integer == 1)
    #expect(try server.count("public_links") == 1)
    let recorded = try server.database.read { reader in
      try reader.rows("SELECT body FROM sync.nonces") { row in
        String(decoding: try row.blob(0), as: UTF8.self)
      }
    }
    #expect(!recorded.isEmpty)
    #expect(!recorded.contains { $0.contains(token) })
    // A segment of that name is left out of logs.
    #expect(server.routes.contains { $0.pattern == "/p/{secret}" })
    #expect(try device.get("/v1/public").json["links"][0]["token"].exists == false)
  }

  @Test(arguments: ContentPlace.all)
  func `links are listed page by page, without those of others`(place: ContentPlace) throws {
    let server = try server(place)
    let (device, other) = (try server.register(), try server.register())
    _ = try other.published([9])
    let first = Identifier(high: 0, low: 0)
    try device.publish(first, [1]).requireMade()
    let ids = try [first] + (0..<5).map { _ in try device.published([1]).id }.sorted()
    var (seen, after): ([String], String?) = ([], nil)
    repeat {
      let page = try device.get(
        "/v1/public?limit=2" + (after.map { "&after=\($0)" } ?? "")
      ).json
      seen += (page["links"].array ?? []).compactMap { $0["id"].string }
      after = page["next"].string
    } while after != nil
    #expect(seen == ids.map(\.description))
    #expect(try device.get("/v1/public?limit=0").problem == "limit_invalid")
    #expect(try device.get("/v1/public?after=x").problem == "link_terms_invalid")
  }

  @Test(arguments: ContentPlace.all)
  func `links send no more in a day than they may, and their bytes count as the owner's`(
    place: ContentPlace
  ) throws {
    let server = try server(place, bytesPerDay: 100_000)
    let (device, other) = (try server.register(), try server.register())
    let (_, token) = try device.published(Random.bytes(60_000))
    let (_, others) = try other.published([1])
    #expect(try server.fetch(token, "HEAD").status == 200)
    for _ in 0..<2 { #expect(try server.fetch(token).status == 200) }
    let refused = try server.fetch(token)
    #expect(refused.status == 429)
    #expect(try refused.problem == "link_transfer_limited")
    let wait = try #require(refused.header("Retry-After").flatMap { Int64($0) })
    #expect(wait > 0)
    #expect(try server.fetch(others).status == 200)
    // The owner's own requests are not those of strangers.
    #expect(try device.get("/v1/public").status == 200)
    uptime.withLock { $0 = $0 + .seconds(wait) }
    #expect(try server.fetch(token, headers: [("Range", "bytes=0-0")]).status == 206)
    try server.api.host.transfers.flush()
    let sent = try device.get("/v1/account").json["transfer"][0]["sent"].integer
    #expect(sent == 120_001)
  }

  @Test func `of many downloads that begin at once, only one goes beyond what is left`() {
    let limits = LinkLimits(bytesPerDay: 1_000_000, trustsProxies: true) { [uptime] in
      uptime.withLock { $0 }
    }
    let (owner, admitted) = (Random.identifier(), Locked(0))
    let threads = (0..<8).map { _ in
      Thread {
        for _ in 0..<50 where limits.secondsToWait(sending: 600_000, of: owner) == nil {
          admitted.withLock { $0 += 1 }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(admitted.withLock { $0 } == 2)
    #expect(limits.secondsToWait(sending: 0, of: owner) != nil)
  }

  @Test func `an address makes a limited number of requests in a minute, whatever they ask for`() {
    let limits = LinkLimits(bytesPerDay: 1_000_000, trustsProxies: true) { [uptime] in
      uptime.withLock { $0 }
    }
    for _ in 0..<300 {
      #expect(limits.secondsToWait(countingRequestOf: "203.0.113.7") == nil)
    }
    #expect(limits.secondsToWait(countingRequestOf: "203.0.113.7") != nil)
    #expect(limits.secondsToWait(countingRequestOf: "203.0.113.8") == nil)
    uptime.withLock { $0 = $0 + .seconds(1) }
    #expect(limits.secondsToWait(countingRequestOf: "203.0.113.7") == nil)
  }

  @Test(arguments: ContentPlace.all)
  func `links of a suspended account are not served, and end at its owner's word all the same`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let (id, token) = try device.published([1])
    try server.suspend(device.account, since: server.clock.now)
    #expect(try server.fetch(token).problem == "link_not_found")
    #expect(try device.publish(Random.identifier(), [1]).problem == "account_suspended")
    #expect(
      try device.send(device.sign("POST", "/v1/public/\(id)/token")).problem == "account_suspended")
    #expect(try device.get("/v1/public").json["links"].array?.count == 1)
    try server.suspend(device.account, since: nil)
    #expect(try server.fetch(token).holds([1]))
    try server.suspend(device.account, since: server.clock.now)
    #expect(try device.unpublish(id).status == 204)
  }

  @Test(arguments: ContentPlace.all)
  func `what has no room is refused before it is sent, and an account above its cap is served`(
    place: ContentPlace
  ) throws {
    let server = try server(place)
    let device = try server.register()
    let (_, token) = try device.published([1])
    try server.setCap(device.account, 1500, plan: "free", reason: "lapsed")
    #expect(try device.publish(Random.identifier(), [2]).problem == "over_cap")
    #expect(try server.fetch(token).holds([1]))
    #expect(try server.count("reservations") == 0)
    try server.requireLinks(device)
  }

  @Test(arguments: ContentPlace.all)
  func `an erased account leaves nothing of its links`(place: ContentPlace) throws {
    let server = try server(place)
    let (ada, bob) = (try server.register(), try server.register())
    let tokens = try [ada, bob].map { try $0.published([1]).token }
    #expect(try ada.remove("/v1/account").status == 202)
    #expect(try server.fetch(tokens[0]).problem == "link_not_found")
    server.clock.advance(.days(8))
    try server.sweeper().sweepErasures()
    #expect(try server.count("public_links") == 1)
    #expect(try server.count("garbage") == 1)
    #expect(try server.fetch(tokens[1]).holds([1]))
  }

  @Test(arguments: ContentPlace.all)
  func `the object of a link is no orphan`(place: ContentPlace) throws {
    let server = try server(place)
    let device = try server.register()
    let (_, token) = try device.published(Random.bytes(30_000))
    let audit = OrphanAudit(server.database, server.objects)
    for byte in UInt8.min ... .max {
      let found = try audit.orphans(
        beginningWith: byte, at: server.clock.now + .days(3650), deletes: true)
      #expect(found.deleted.count == 0)
    }
    #expect(try server.fetch(token).status == 200)
  }
}

extension TestServer {
  /// Records an issue unless an account's totals, usage and ledger are what its rows add up to.
  func requireLinks(_ device: TestDevice) throws {
    let recount = Recount(
      database, catalogue: catalogue, protocols: [FileTrees.self, PublishedContents.self])
    let finding = try #require(try recount.audit(device.account))
    #expect(finding.isRight, "\(finding)")
  }
}
