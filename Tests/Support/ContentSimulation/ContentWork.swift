import Accounts
import Base
import Objects
import Simulation
import Storage
import Sync
import Tiers
import TreeSimulation

/// Steps of time and of background work.
extension ContentStory {
  private static let sliceCountMax = 1000

  /// One slice of background work, or a sweep, in any weather.
  func work() throws {
    let (upkeep, sweeper) = (server.upkeep, server.sweeper)
    let slice: () throws -> Void
    switch number(1...10) {
    case ...5:
      let chosen = upkeep[number(0...upkeep.count - 1)]
      slice = { _ = try chosen.slice() }
    case 6: slice = { [server] in _ = try server.trees.markDeleted(count: 1) }
    case ...8: slice = { try sweeper.sweepCrowds() }
    default: slice = { try sweeper.sweep() }
    }
    try inWeather(slice)
  }

  private func inWeather(_ work: () throws -> Void) throws {
    var failure: (any Error)?
    let mishap = mishaps.during(40) {
      do { try work() } catch { failure = error }
    }
    if let mishap { note("work after \(mishap): \(failure == nil ? "done" : "failed")") }
    if mishap == .cut { return try crash() }
    if let failure, mishap == nil { throw failure }
  }

  func pass() throws {
    let span: Instant.Span =
      switch number(1...20) {
      case ...8: .seconds(Int64(number(1...20)))
      case ...13: .minutes(Int64(number(1...15)))
      case ...17: .hours(Int64(number(1...6)))
      default: .hours(Int64(number(12...40)))
      }
    // Whether an append that lasts beyond the end of its upload still counts depends on the sweep.
    let ending = held.filter { request in
      request.upload != nil
        && model.reservations[request.reservation].map { $0.expires <= server.now + span } ?? true
    }
    held.removeAll { request in ending.contains { $0.exchange === request.exchange } }
    for request in ending { try hangUp(request) }
    server.advance(span)
    if span < ContentModel.graceSpan { try lag() }
  }

  /// Looks at the whole store for objects without a row.
  func audit() throws {
    if mistake == .auditsDocumentsOnly {
      let named = try Set(ContentRows(server.database).files.values.compactMap(\.object))
      disk.withLock { disk in
        disk.objects = disk.objects.filter { named.contains($0.key) }
        disk.unfinished = [:]
      }
      return
    }
    try inWeather { try auditAll() }
  }

  private func auditAll() throws {
    let audit = OrphanAudit(server.database, store)
    for byte in UInt8.min...UInt8.max {
      _ = try audit.orphans(beginningWith: byte, at: server.now, deletes: true)
    }
  }

  /// A backup begins: what is in use now stays until it ends.
  func backUp() throws {
    guard let backup else {
      let hold = try store.hold()
      let used = try ContentRows(server.database).used.map(\.object)
      self.backup = (hold, Set(used))
      return note("a backup begins")
    }
    let lost = disk.withLock { disk in backup.objects.filter { disk.objects[$0] == nil } }
    guard lost.isEmpty else { throw Mismatch("a backup lost \(lost)") }
    self.backup = nil
    note("a backup ends")
  }

  /// Ends everything that is under way, and lets time and work go on until nothing is left to do. Then nothing is on the
  /// disk that no row names, and everything that there is can be read.
  func quiet() throws {
    note("quiet")
    if backup != nil { try backUp() }
    while !held.isEmpty { try hangUp(held.removeLast()) }
    downloads = []
    disk.withLock { disk in
      while !disk.late.isEmpty { disk.land(0, at: server.now) }
    }
    try check()
    for span in [.hours(25), .hours(25), .minutes(11)] as [Instant.Span] {
      server.advance(span)
      // Versions of what is purged go with the next pass.
      for _ in 0..<3 { try workOnEverything() }
      try check()
    }
    uploads = []
    for (number, reservation) in model.reservations where reservation.expires <= server.now {
      model.reservations[number] = nil
    }
    try auditAll()
    try check()
    try requireEmptied()
    try readEverything()
  }

  private func workOnEverything() throws {
    for work in server.upkeep {
      var count = 0
      while try work.slice() {
        count += 1
        guard count < Self.sliceCountMax else { throw Mismatch("\(work.name) never ends") }
      }
    }
    try server.sweeper.sweepCrowds()
    try server.sweeper.sweep()
  }

  private func requireEmptied() throws {
    let rows = try ContentRows(server.database)
    var faults: [String] = []
    let (stored, unfinished) = disk.withLock { (Set($0.objects.keys), $0.unfinished.count) }
    // What this work dropped waits for downloads.
    let fresh = rows.garbage.filter { $0.at > server.now - ContentModel.graceSpan }
    let named = Set(rows.used.map(\.object) + fresh.map(\.object))
    if stored != named {
      faults.append(
        "the store has \(stored.subtracting(named).count) objects that no row names, and lacks "
          + "\(named.subtracting(stored).count)")
    }
    if unfinished > 0 { faults.append("\(unfinished) unfinished objects are left") }
    if rows.garbage.count > fresh.count {
      faults.append("\(rows.garbage.count - fresh.count) rows of garbage are left")
    }
    if !rows.reservations.isEmpty {
      faults.append("\(rows.reservations.count) reservations are left")
    }
    if !rows.marking.isEmpty { faults.append("\(rows.marking.count) deletions are not done") }
    for (id, node) in model.nodes where node.place == .gone && !node.versions.isEmpty {
      faults.append("\(id) is gone, and \(node.versions.count) versions of it are not")
    }
    for (id, node) in model.nodes where node.place == .live && !model.isLive(id) {
      faults.append("\(id) is below a deleted folder, and is not marked")
    }
    for (root, entry) in model.trash where entry.state != .kept || model.isDue(root, at: server.now)
    {
      faults.append("\(root) is still \(entry.state) in the trash")
    }
    for (id, node) in model.nodes {
      let due = node.versions.filter { model.isDue($0, of: node.owner, at: server.now) }
      if !due.isEmpty { faults.append("\(due.count) versions of \(id) are due") }
    }
    for (id, account) in model.accounts where account.purges && model.usage(id) > account.cap {
      if model.historyByteCount(id) > 0 || model.trashByteCount(id) > 0 {
        faults.append("\(id) is over its cap, and its versions and trash made no room")
      }
    }
    guard faults.isEmpty else { throw Mismatch(faults.joined(separator: "\n")) }
  }
}
