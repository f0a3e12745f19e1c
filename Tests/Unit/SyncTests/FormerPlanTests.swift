import Base
import Crypto
import JSON
import Ledger
import SeededRandom
import Sync
import TestDevices
import TestEngines
import Testing
import Tiers

/// What a plan kept, after another plan took its place that keeps less.
@Suite struct FormerPlanTests {
  private static let paid = [
    Plan(
      id: "large", title: "Large", byteCount: 1_000_000,
      limits: .init(historyDays: 12, trashDays: 40)),
    Plan(
      id: "middle", title: "Middle", byteCount: 1_000_000,
      limits: .init(historyDays: 4, trashDays: 2)),
    Plan(
      id: "few", title: "Few", byteCount: 1_000_000,
      limits: .init(historyDays: 4, historyVersionCount: 2)),
  ]
  private let small = Random.bytes(100)
  private let large = Random.bytes(20_000)

  private func server(_ engine: TestEngine, formerPlanDays: Int64 = 30) throws -> TestServer {
    try TestServer(engine, paid: Self.paid, formerPlanDays: formerPlanDays)
  }

  @Test(arguments: TestEngine.available, [false, true])
  func `what was kept stays for thirty days after the plan, and nothing new is kept`(
    engine: TestEngine, isAnew: Bool
  ) throws {
    let server = try server(engine)
    let device = try server.register()
    let account = try device.account
    try server.setPlan("large", of: account)
    let (id, deleted) = (try device.add(), try device.add())
    let first = try device.write(id, small)
    _ = try device.write(deleted, large)
    server.clock.advance(.days(1))
    _ = try device.write(id, large)
    try device.delete(deleted).requireSuccess()
    server.clock.advance(.days(3))
    // A failed card: the account falls to the free plan.
    try server.setPlan(nil, of: account, anew: isAnew)
    let fall = server.clock.now
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    #expect(try device.versions(id).map(\.number) == [first])
    _ = try device.write(id, small)
    #expect(try device.versions(id).map(\.number) == [first])
    let other = try device.add()
    try device.delete(other).requireSuccess()
    let page = try device.get("/v1/files/\(id)/versions").json["versions"]
    #expect(page[0]["until"].string == (fall + .days(9)).description)
    let trash = try device.get("/v1/trash").json["trash"]
    #expect(trash.array?.count == 1)
    #expect(trash[0]["until"].string == (fall + .days(30)).description)
    server.clock.advance(.days(7))
    try server.sweepDeletions()
    try device.restore(id, first).requireSuccess()
    server.clock.advance(.days(21))
    try server.sweepDeletions()
    try device.restoreDeleted(deleted).requireDone()
    try server.sweepDeletions()
    try device.delete(deleted).requireSuccess()
    #expect(try device.restoreDeleted(deleted).problem == "trash_not_found")
    try server.sweepDeletions()
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `thirty days after the plan everything that it kept is gone`(engine: TestEngine) throws {
    let server = try server(engine)
    let device = try server.register()
    let account = try device.account
    try server.setPlan("large", of: account)
    let (id, deleted) = (try device.add(), try device.add())
    for content in [large, small] { _ = try device.write(id, content) }
    try device.delete(deleted).requireSuccess()
    server.clock.advance(.hours(1))
    try server.setPlan(nil, of: account)
    server.clock.advance(.seconds(30 * 86_400 - 1))
    try server.sweepDeletions()
    #expect(try server.count("trash") == 1)
    server.clock.advance(.seconds(1))
    for _ in 0..<2 { try server.sweepDeletions() }
    #expect(try server.count("trash") + server.count("versions") == 0)
    #expect(try device.usage() == 2100)
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `more versions than the new plan keeps stay, if the former plan kept them`(
    engine: TestEngine
  ) throws {
    let server = try server(engine)
    let device = try server.register()
    let account = try device.account
    try server.setPlan("large", of: account)
    let id = try device.add()
    let before = try (0..<5).map { _ in try device.write(id, small) }
    server.clock.advance(.hours(1))
    try server.setPlan("few", of: account)
    server.clock.advance(.hours(1))
    let after = try (0..<4).map { _ in try device.write(id, small) }
    // Two of the new plan, besides all that were replaced under the former one.
    let kept = try device.versions(id).map(\.number)
    #expect(kept == [after[2], after[1]] + before.dropLast().reversed())
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `what is to make room, and what the owner purges, goes at once`(engine: TestEngine) throws {
    let server = try server(engine)
    let device = try server.register()
    let account = try device.account
    try server.setPlan("large", of: account)
    let (id, deleted) = (try device.add(), try device.add())
    for content in [large, large, small] { _ = try device.write(id, content) }
    try device.delete(deleted).requireSuccess()
    server.clock.advance(.hours(1))
    try server.setPlan(nil, of: account, cap: 25_000)
    #expect(try device.choose("purge").status == 204)
    server.clock.advance(.days(1))
    try server.sweepDeletions()
    #expect(try device.versions(id).count == 1)
    #expect(try device.usage() == 23_100)
    #expect(try device.purge(deleted).status == 204)
    try server.sweepDeletions()
    #expect(try device.usage() == 22_100)
    try server.requireRight([device])
  }

  @Test(arguments: TestEngine.available)
  func `plans that rise and fall keep what a plan counts for, and no more`(engine: TestEngine)
    throws
  {
    let seed = SeededGenerator.seed(of: "former plans")
    var random = SeededGenerator(seed: seed)
    let formerDays = 5
    let server = try server(engine, formerPlanDays: Int64(formerDays))
    let device = try server.register()
    let account = try device.account
    let plans: [String?: Plan.Limits] = [
      nil: .init(), "large": Self.paid[0].limits, "middle": Self.paid[1].limits,
    ]
    // The model: the plan of each day, and the day on which each thing was replaced or deleted.
    var (held, versions, trash) = ([String?](), [Int64: Int](), [Identifier: Int]())
    func isKept(since then: Int, _ days: (Plan.Limits) -> Int64?) -> Bool {
      let today = held.count - 1
      return (max(then, today - formerDays)...today)
        .contains { days(plans[held[$0]]!) ?? 0 > today - then }
    }
    let id = try device.add()
    var last = try device.write(id, small)
    held.append(nil)
    for step in 0..<40 {
      let count = Int.random(in: 1...4, using: &random)
      server.clock.advance(.days(Int64(count)))
      for _ in 0..<count { held.append(held.last!) }
      if Int.random(in: 0..<3, using: &random) == 0 {
        let plan = [nil, "large", "middle"].randomElement(using: &random)!
        try server.setPlan(plan, of: account, anew: Bool.random(using: &random))
        held[held.count - 1] = plan
      }
      try server.sweepDeletions()
      versions = versions.filter { isKept(since: $0.value, \.historyDays) }
      trash = trash.filter { isKept(since: $0.value, \.trashDays) }
      if Bool.random(using: &random) {
        let replaced = last
        last = try device.write(id, small)
        if plans[held.last!]!.historyDays != nil { versions[replaced] = held.count - 1 }
      } else {
        let file = try device.add()
        try device.delete(file).requireSuccess()
        if plans[held.last!]!.trashDays != nil { trash[file] = held.count - 1 }
      }
      let listed = try device.get("/v1/trash").json["trash"].array ?? []
      #expect(Set(try device.versions(id).map(\.number)) == Set(versions.keys), "step \(step)")
      #expect(
        Set(listed.compactMap { $0["file"]["id"].string })
          == Set(trash.keys.map(\.description)), "step \(step)")
      try server.requireRight([device])
    }
  }
}

extension TestServer {
  /// Gives an account a plan from now on, as coffer-billing would; nil: the free plan. With `anew` its schedule then
  /// says that it always had that plan, as after a refund.
  func setPlan(
    _ plan: String?, of account: Identifier, cap: Int64? = nil, anew: Bool = false
  ) throws {
    let now = clock.now
    let free = Schedule.free(catalogue)
    let planned = plan.flatMap { catalogue.plan($0) } ?? catalogue.free
    try asBilling(for: account) { transaction in
      let stored = try EntitlementRows.schedule(of: account, reading: transaction)
      let boundary = Schedule.Boundary(
        from: anew ? .distantPast : now, capByteCount: cap ?? planned.byteCount,
        planID: planned.id, reason: plan == nil ? .paymentFailed : .subscribed)
      let before = (stored.isEmpty ? free.boundaries : stored).filter { $0.from < boundary.from }
      guard let schedule = Schedule(stored: before + [boundary]) else { return }
      try EntitlementRows.write(
        schedule, over: stored, of: account, unknown: free, at: now, in: transaction)
    }
  }
}
