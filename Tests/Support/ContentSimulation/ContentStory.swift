import Base
import Crypto
import HTTPMessages
import Objects
import SeededRandom
package import Simulation
import Storage
import Sync
import TestDevices
import TestEngines
import TestFiles
import Tiers
import TreeSimulation

/// An error that a test puts in on purpose, to see that a story notices it.
package enum ContentMistake: String, Sendable, CaseIterable {
  /// The store calls an object durable before it is.
  case acknowledgesEarly
  /// The store continues an upload behind bytes that it has lost.
  case losesBytes
  /// The store deletes nothing.
  case keepsDeleted
  /// The search for orphans asks for documents' contents only: not for uploads under way, nor for versions.
  case auditsDocumentsOnly
  /// A write is charged wrongly.
  case miscounts
}

/// A seeded story of contents: an owner, and two sharees of one of its folders, one of whom may write. They upload, read,
/// delete and restore, while background work, mishaps and crashes come in between, and a model says what must be true.
package final class ContentStory {
  struct Person {
    let device: TestDevice
    let account: Identifier
  }

  /// A crash that is under way: what it leaves.
  private struct Saved {
    let disk: SimulatedDisk
    let directory: String
  }

  let server: TreeServer
  let mishaps: Mishaps
  let disk: Locked<SimulatedDisk>
  let log: SimulationLog
  let mistake: ContentMistake?
  private let saved: Locked<Saved?>
  private let opened: Locked<SimulatedStore?>
  private let scratch: ScratchDirectory
  var random: SeededGenerator
  var model = ContentModel()
  private(set) var people: [Person] = []
  /// Requests whose body is under way, downloads and resumable uploads.
  var held: [HeldRequest] = []
  var downloads: [HeldDownload] = []
  var uploads: [HeldUpload] = []
  var lastReservation = 0
  var backup: (hold: any ObjectHold, objects: Set<Identifier>)?
  /// The writes that took effect. A story in which nothing happens proves nothing.
  package internal(set) var acceptedCount = 0
  package private(set) var crashCount = 0
  let isLarge: Bool

  static let plans = [
    Plan(id: "free", title: "Free", byteCount: 300_000),
    Plan(
      id: "brief", title: "Brief", byteCount: 600_000,
      limits: .init(historyDays: 2, historyVersionCount: 3, trashDays: 2)),
    Plan(
      id: "long", title: "Long", byteCount: 600_000, limits: .init(historyDays: 5, trashDays: 1)),
  ]

  package init(seed: UInt64, mistake: ContentMistake? = nil, _ log: SimulationLog) throws {
    var random = SeededGenerator(seed: seed)
    isLarge = Int.random(in: 0..<5, using: &random) == 0
    (self.random, self.log, self.mistake) = (random, log, mistake)
    let (scratch, saved) = (try ScratchDirectory(), Locked<Saved?>(nil))
    let (disk, database) = (Locked(SimulatedDisk()), Locked(""))
    let mishaps = Mishaps(seed: seed) { sent in
      var left = disk.withLock { $0 }
      if let sent { left.late.append(sent) }
      let directory = scratch.path + "/" + Random.identifier().description
      do {
        try Files.createFolder(directory)
        try DatabaseCopy.take(of: database.withLock { $0 }, into: directory) { _, _ in }
      } catch { preconditionFailure("a simulated crash cannot be kept: \(error)") }
      saved.withLock { $0 = Saved(disk: left, directory: directory) }
    }
    (self.scratch, self.saved, self.disk, self.mishaps) = (scratch, saved, disk, mishaps)
    let opened = Locked<SimulatedStore?>(nil)
    let now = Locked<@Sendable () -> Instant>({ Instant(seconds: 0) })
    self.opened = opened
    server = try TreeServer(
      .sqlite, freeByteCount: Self.plans[0].byteCount, plans: Array(Self.plans.dropFirst()),
      formerPlanDays: ContentModel.formerPlanDays,
      onTick: { mishaps.tick() }
    ) { _ in
      let store = SimulatedStore(disk, mishaps, mistake) { now.withLock { $0 }() }
      opened.withLock { $0 = store }
      return store
    }
    database.withLock { [directory = server.directory] in $0 = directory + "/database" }
    now.withLock { [server] in $0 = { [unowned server] in server.now } }
    try open()
  }

  /// The accounts, and the folder that they share.
  private func open() throws {
    for _ in 0..<3 {
      let device = try server.register(root: identifier())
      let account = try device.account
      people.append(Person(device: device, account: account))
      model.accounts[account] = .init(root: device.root, cap: 300_000, plan: Self.plans[0])
      model.add(device.root, .init(owner: account, parent: device.root, isFolder: true))
    }
    let owner = people[0]
    let folder = try owner.device.creation("folder", id: identifier()).file.id
    guard try owner.device.create("folder", id: folder).answer.status == 200 else {
      throw Mismatch("no folder to share")
    }
    model.add(folder, .init(owner: owner.account, parent: owner.device.root, isFolder: true))
    model.shared = folder
    for (sharee, mode) in zip(people[1...], ["write", "read"]) {
      try owner.device.share(folder, with: sharee.device, mode: mode)
      model.sharees[sharee.account] = mode == "write"
      model.accounts[sharee.account]?.linkCount = 1
    }
    for _ in 0..<12 { try create() }
  }

  // MARK: Steps

  package func tell(stepCount: Int) throws {
    try takeSteps(stepCount) { step in
      log.write(server.now, "step \(step)")
      try self.step()
      try check()
      if step % 60 == 0 { try quiet() }
    } end: {
      try quiet()
    }
  }

  private func step() throws {
    switch number(1...100) {
    case ...5: try create()
    case ...32: try write()
    case ...38: try restoreVersion()
    case ...46: try read()
    case ...52: try beginUpload()
    case ...62: try continueUpload()
    case ...70: try continueHeld()
    case ...73: try delete()
    case ...78: try changeTrash()
    case ...82: try changeTerms()
    case ...90: try work()
    case ...94: try pass()
    case ...96: try audit()
    case ...97: try backUp()
    case ...98: landLate()
    default: try crash()
    }
  }

  /// The store as the running program has it open.
  var store: any ObjectStore {
    guard let store = opened.withLock({ $0 }) else { preconditionFailure("no program runs") }
    return store
  }

  func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
  func identifier() -> Identifier { Identifier(high: random.next(), low: random.next()) }
  func note(_ what: String) { log.write(server.now, what) }

  func reservation(_ value: ContentModel.Reservation) -> Int {
    lastReservation += 1
    model.reservations[lastReservation] = value
    return lastReservation
  }

  /// Sends a request, at times in bad weather. A client that gets no answer, or one that blames the server, sends the
  /// same again, and gets the answer that it would have got.
  func send(_ request: TestDevice.Signed, _ device: TestDevice) throws -> Answer {
    var result: Result<Answer, any Error>?
    let mishap = mishaps.during(30) { result = Result { try device.send(request) } }
    if mishap == .cut { try crash() }
    let answer = try mishap == nil ? result?.get() : try? result?.get()
    if let answer, mishap != .cut, answer.status < 500 || answer.status == 507 {
      note("\(request.method) \(answer.status) \(try answer.problem ?? "")")
      return answer
    }
    try server.settle(people.map(\.account))
    let second = try device.send(request)
    let what = "\(request.method) \(second.status) \(try second.problem ?? "")"
    note("\(what) after \(mishap?.rawValue ?? "nothing")")
    return second
  }

  func require(_ answer: Answer, _ status: Int, _ what: String) throws {
    guard answer.status == status else {
      throw Mismatch("\(what): \(status) expected, got \(UnexpectedAnswer(answer))")
    }
    if (200..<300).contains(status) { acceptedCount += 1 }
  }

  // MARK: Crashes

  /// Ends the program where a mishap cut it, or between two requests, and starts the next.
  func crash() throws {
    crashCount += 1
    note("crash")
    opened.withLock { $0 }?.end()
    for request in held where request.upload == nil {
      model.reservations[request.reservation] = nil
    }
    held = []
    downloads = []
    let (saved, path) = (saved.withLock { $0.take() }, server.directory + "/database")
    try server.crash {
      disk.withLock { disk in
        // A hold belongs to another program.
        let holdCount = disk.holdCount
        if let saved { disk = saved.disk }
        disk.holdCount = holdCount
        disk.crash()
      }
      guard let saved else { return }
      try ContentRun.replaceDatabase(in: path, from: saved.directory)
    }
    try server.sweeper.settleUploads()
  }

  private func landLate() {
    disk.withLock { disk in
      guard !disk.late.isEmpty else { return }
      disk.land(number(0...disk.late.count - 1), at: server.now)
    }
  }

  // MARK: Checks

  /// Compares model, rows and disk.
  func check() throws {
    try server.settle(people.map(\.account))
    let rows = try ContentRows(server.database)
    var faults = model.adopt(rows, at: server.now)
    faults += try rows.faults(disk.withLock { $0 }, server.database, server.catalogue)
    guard faults.isEmpty else { throw Mismatch(faults.prefix(5).joined(separator: "\n")) }
  }
}
