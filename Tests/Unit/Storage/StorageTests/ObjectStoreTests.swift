import Base
import Glibc
import Objects
import SeededRandom
import Storage
import TestEngines
import TestFiles
import Testing

@Suite struct ObjectStoreTests {
  private let key = Identifier(high: 0xABCD_0000_0000_0000, low: 1)

  @Test func `a finished object reads back byte for byte`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: "\(scratch.path)/objects")
    let seed = SeededGenerator.seed(of: "objects in pieces")
    var random = SeededGenerator(seed: seed)
    let bytes = (0..<300_000).map { _ in UInt8.random(in: 0...255, using: &random) }
    let writer = try store.create(key)
    for start in stride(from: 0, to: bytes.count, by: 70_001) {
      let part = Array(bytes[start..<min(start + 70_001, bytes.count)])
      try writer.write(part)
    }
    #expect(writer.byteCount == 300_000)
    try writer.finish()
    let file = try #require(try store.open(key))
    #expect(file.byteCount == 300_000)
    let isWhole = try contents(file) == bytes
    #expect(isWhole, "seed \(seed)")
  }

  @Test func `an object is invisible until it is finished`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.create(key)
    try writer.write([1, 2, 3])
    #expect(try store.open(key) == nil)
    try writer.finish()
    #expect(try store.open(key) != nil)
  }

  @Test func `a store keeps whose it is, and is another's only when nobody else uses it`() throws {
    let scratch = try ScratchDirectory()
    let (first, second) = (Identifier(high: 1, low: 1), Identifier(high: 2, low: 2))
    let store = try DirectoryStore(directory: scratch.path)
    #expect(try store.owner() == nil)
    var other: DirectoryStore? = try DirectoryStore(directory: scratch.path)
    try store.belong(to: first)
    try other?.belong(to: first)
    #expect(throws: ObjectStoreError.self) { try store.belong(to: second) }
    #expect(try other?.owner()?.history == first)
    other = nil
    try store.belong(to: second)
    #expect(try DirectoryStore(directory: scratch.path).owner()?.history == second)
    #expect(try store.leftovers(before: .distantFuture) == [])
  }

  @Test func `an empty object exists`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    try store.create(key).finish()
    #expect(try store.open(key)?.byteCount == 0)
  }

  @Test func `an object is never replaced`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let first = try store.create(key)
    try first.write([1])
    try first.finish()
    let second = try store.create(key)
    try second.write([2])
    #expect(throws: ObjectStoreError.alreadyExists) { try second.finish() }
    #expect(try contents(try #require(try store.open(key))) == [1])
  }

  @Test func `one key has one upload at a time`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let first = try store.create(key)
    #expect(throws: ObjectStoreError.alreadyExists) { try store.create(key) }
    first.abandon()
    try store.create(key).finish()
  }

  @Test func `an abandoned or dropped upload leaves nothing`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.create(key)
    try writer.write([1])
    writer.abandon()
    do {
      let dropped = try store.create(key)
      try dropped.write([1])
    }
    #expect(Files.names(in: "\(scratch.path)/tmp") == [])
    #expect(try store.open(key) == nil)
  }

  @Test func `an upload that has ended takes no more bytes`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.create(key)
    try writer.finish()
    #expect(throws: ObjectStoreError.unavailable(reason: "the upload has ended already")) {
      try writer.write([1])
    }
    #expect(throws: ObjectStoreError.unavailable(reason: "the upload has ended already")) {
      try writer.finish()
    }
  }

  @Test func `deleting is idempotent`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    try store.create(key).finish()
    try store.delete(key)
    try store.delete(key)
    #expect(try store.open(key) == nil)
  }

  @Test func `a deleted object can still be read by who has it open`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.create(key)
    try writer.write([4, 5])
    try writer.finish()
    let file = try #require(try store.open(key))
    try store.delete(key)
    #expect(try contents(file) == [4, 5])
  }

  @Test func `uploads that a crash left behind are found by their age and removed`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let path = "\(scratch.path)/tmp/\(key)"
    close(unsafe open(path, O_WRONLY | O_CREAT, 0o600))
    let now = Clock.system.now()
    #expect(try store.leftovers(before: now - .hours(1)) == [])
    #expect(try store.leftovers(before: now + .hours(1)) == [key])
    try store.deleteLeftover(key)
    try store.deleteLeftover(key)
    #expect(try store.leftovers(before: now + .hours(1)) == [])
  }

  @Test func `what is no file is no object and no upload`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    for folder in ["ab", "ab/cd", "ab/cd/\(key)", "tmp/\(key)"] {
      try Files.createFolder("\(scratch.path)/\(folder)")
    }
    #expect(try store.list(beginningWith: 0xAB).map(\.key) == [])
    #expect(try store.leftovers(before: Clock.system.now() + .hours(1)) == [])
  }

  @Test func `a store whose disk went away is told from one that is there`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path + "/objects")
    try store.check()
    Files.removeAll(scratch.path + "/objects")
    #expect(
      throws: ObjectStoreError.unavailable(
        reason: "the object store is gone; is its disk mounted?")
    ) {
      try store.check()
    }
  }

  @Test func `a process is known to run for as long as it does`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    var other: DirectoryStore? = try DirectoryStore(directory: scratch.path)
    let instance = try #require(other?.instance)
    #expect(store.isRunning(instance))
    #expect(store.isRunning(store.instance))
    other = nil
    #expect(!store.isRunning(instance))
    #expect(store.isRunning(store.instance))
  }

  @Test func `the name of a process that crashed is found unheld and forgotten`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let crashed = Identifier(high: 1, low: 2)
    close(unsafe open("\(scratch.path)/instances/\(crashed)", O_WRONLY | O_CREAT, 0o600))
    #expect(!store.isRunning(crashed))
    try store.forgetInstances()
    #expect(Files.names(in: "\(scratch.path)/instances") == ["\(store.instance)"])
  }

  @Test func `files are spread by their key and readable by their user only`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    try store.create(key).finish()
    #expect(Files.permissions("\(scratch.path)/ab/cd/\(key)") == 0o600)
    #expect(Files.permissions("\(scratch.path)/ab/cd") == 0o700)
  }

  @Test func `many threads finish uploads into the same directories`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let failures = Collector<String>()
    let threads = (0..<8).map { number in
      Thread {
        for index in 0..<20 {
          let key = Identifier(high: UInt64(index % 3) << 48, low: UInt64(number * 100 + index))
          let result = Result {
            let writer = try store.create(key)
            try writer.write([UInt8(number), UInt8(index)])
            try writer.finish()
          }
          if case .failure(let error) = result { failures.add("\(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(failures.current == [])
    for number in 0..<8 {
      for index in 0..<20 {
        let key = Identifier(high: UInt64(index % 3) << 48, low: UInt64(number * 100 + index))
        #expect(try contents(try #require(try store.open(key))) == [UInt8(number), UInt8(index)])
      }
    }
  }

  private func contents(_ object: StoredObject) throws -> [UInt8] {
    let file = try object.file()
    var bytes = [UInt8](repeating: 0, count: Int(file.byteCount))
    let count = unsafe pread(file.descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(max(0, count)))
  }
}

extension ObjectWriter {
  func write(_ bytes: [UInt8]) throws(ObjectStoreError) {
    try unsafe write(bytes.span.bytes)
  }
}
