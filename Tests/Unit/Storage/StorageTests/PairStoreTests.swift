import Base
import Glibc
import Objects
import TestEngines
import TestFiles
import Testing

/// Two stores as one, while objects move from one to the other.
@Suite struct PairStoreTests {
  private let scratch: ScratchDirectory
  private let new: DirectoryStore
  private let old: DirectoryStore
  private let pair: PairStore
  private let key = Identifier(high: 0xABCD_0000_0000_0000, low: 1)
  private let history = Identifier(high: 7, low: 7)

  init() throws {
    scratch = try ScratchDirectory()
    new = try DirectoryStore(directory: scratch.path + "/new")
    old = try DirectoryStore(directory: scratch.path + "/old")
    pair = try PairStore(new, at: "new", also: old, at: "old")
  }

  /// The pair the other way round, as in the first of two steps.
  private func turned() throws -> PairStore { try PairStore(old, at: "old", also: new, at: "new") }

  private func store(_ bytes: [UInt8], in store: any ObjectStore) throws {
    let writer = try store.create(key)
    try writer.write(bytes)
    try writer.finish()
  }

  private func contents(_ object: StoredObject) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try object.read { (block) throws(ObjectStoreError) in
      unsafe block.withUnsafeBytes { unsafe bytes += Array($0) }
    }
    return bytes
  }

  @Test func `a new object goes to the main store, and an object of either is found`() throws {
    try store([1, 2, 3], in: pair)
    #expect(try new.open(key) != nil)
    #expect(try old.open(key) == nil)
    #expect(try pair.open(key)?.byteCount == 3)
    #expect(try turned().open(key)?.byteCount == 3)
  }

  @Test func `an object that moves between two looks is found`() throws {
    try store([1, 2, 3], in: old)
    let moving = HookedStore(old)
    moving.beforeOpening { [new, old] key in
      try new.create(key).finish()
      try old.delete(key)
    }
    let pair = try PairStore(new, at: "new", also: moving, at: "old")
    #expect(try pair.open(key) != nil)
  }

  @Test func `a deletion leaves no copy, and no unfinished one`() throws {
    try store([1], in: new)
    try store([1], in: old)
    try pair.delete(key)
    #expect(try new.open(key) == nil)
    #expect(try old.open(key) == nil)
    let start = ObjectCheckpoint(byteCount: 0, state: [])
    for store in [new, old] { try store.resume(key, at: start).suspend() }
    #expect(try pair.leftovers(before: .distantFuture) == [key])
    try pair.deleteLeftover(key)
    #expect(try pair.leftovers(before: .distantFuture) == [])
  }

  @Test func `an object in both is listed once, as young as its younger copy`() throws {
    try store([1, 2], in: old)
    try #require(Files.age(scratch.path + "/old/ab/cd/\(key)"))
    let before = try pair.list(beginningWith: 0xAB)
    try store([1, 2], in: new)
    let after = try pair.list(beginningWith: 0xAB)
    #expect(before.map(\.key) == [key] && after.map(\.key) == [key])
    #expect(after[0].written > before[0].written)
    #expect(after[0].byteCount == 2)
  }

  @Test func `a process that runs with either store counts as running, until it ends`() throws {
    var others: [DirectoryStore] = try ["new", "old"].map {
      try DirectoryStore(directory: "\(scratch.path)/\($0)")
    }
    let names = others.map(\.instance)
    #expect(names.allSatisfy { pair.isRunning($0) })
    #expect(try turned().isRunning(pair.instance))
    others = []
    #expect(!names.contains { pair.isRunning($0) })
  }

  @Test func `a hold in one store is a hold of the pair, and a hold of the pair is in both`() throws
  {
    for store in [new, old] {
      let hold = try store.hold()
      #expect(try pair.isHeld())
      withExtendedLifetime(hold) {}
    }
    #expect(try !pair.isHeld())
    let hold = try pair.hold()
    #expect(try new.isHeld() && old.isHeld())
    withExtendedLifetime(hold) {}
  }

  @Test func `an upload continues where it began, and one without bytes begins in the main store`()
    throws
  {
    let first = try turned().resume(key, at: ObjectCheckpoint(byteCount: 0, state: []))
    try first.write([1, 2])
    let checkpoint = try first.checkpoint(isLast: true)
    first.suspend()
    let second = try pair.resume(key, at: checkpoint)
    try second.write([3])
    try second.finish()
    #expect(try contents(#require(try old.open(key))) == [1, 2, 3])
    let other = Identifier(high: 5, low: 5)
    try pair.resume(other, at: ObjectCheckpoint(byteCount: 0, state: [])).suspend()
    #expect(try new.leftovers(before: .distantFuture) == [other])
    let lost = ObjectCheckpoint(byteCount: 9, state: [])
    #expect(throws: ObjectStoreError.incomplete) { try pair.resume(other, at: lost) }
  }

  // MARK: Whose they are

  @Test func `while objects are in both, neither store may be opened alone`() throws {
    try old.belong(to: history)
    try pair.belong(to: history)
    #expect(try new.companion() == "old")
    #expect(try old.companion() == "new")
    try pair.finish()
    try pair.belong(to: history)
    #expect(try new.companion() == nil, "it is marked again")
    #expect(try old.companion() == "new")
  }

  @Test func `in the first of two steps the store in use stays free, and the new one does not`()
    throws
  {
    try old.belong(to: history)
    try turned().belong(to: history)
    #expect(try old.companion() == nil)
    #expect(try new.companion() == "old")
    try pair.belong(to: history)
    #expect(try old.companion() == "new")
  }

  @Test func `objects can move back`() throws {
    try old.belong(to: history)
    try pair.belong(to: history)
    try pair.finish()
    try turned().belong(to: history)
    #expect(try old.companion() == "new")
    #expect(try new.companion() == "old")
    try turned().finish()
    #expect(try old.companion() == nil)
    #expect(try new.companion() == "old")
  }

  @Test func `stores that belong together with a third one are refused`() throws {
    try old.setCompanion("third")
    let failure = #expect(throws: ObjectStoreError.self) {
      try PairStore(new, at: "new", also: old, at: "old")
    }
    #expect("\(try #require(failure))".contains("objects may be in third"))
  }

  @Test func `another database's store is not taken in`() throws {
    try old.belong(to: Identifier(high: 8, low: 8))
    try new.belong(to: history)
    #expect(throws: ObjectStoreError.self) { try pair.belong(to: history) }
    #expect(try pair.owner() == nil, "rows would call the other's objects garbage")
  }

  @Test func `a pair is owned for as long as its younger ownership`() throws {
    try old.belong(to: history)
    try #require(Files.age(scratch.path + "/old/history"))
    try pair.belong(to: history)
    let owner = try #require(try pair.owner())
    #expect(owner.history == history)
    #expect(try owner.since == new.owner()?.since)
  }
}
