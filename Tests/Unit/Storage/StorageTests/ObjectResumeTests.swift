import Base
import Crypto
import Glibc
import Objects
import TestEngines
import TestFiles
import Testing

/// Unfinished objects that another writer continues.
@Suite struct ObjectResumeTests {
  private let key = Identifier(high: 0xABCD_0000_0000_0000, low: 1)
  private let start = ObjectCheckpoint(byteCount: 0, state: [])

  @Test func `a writer continues at a checkpoint, and what was written behind it is gone`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let first = try store.resume(key, at: start)
    try first.write([1, 2, 3])
    let checkpoint = try first.checkpoint(isLast: true)
    #expect(checkpoint == ObjectCheckpoint(byteCount: 3, state: []))
    try first.write([7, 7])
    first.suspend()
    let second = try store.resume(key, at: checkpoint)
    try second.write([4])
    try second.finish()
    #expect(try contents(store) == [1, 2, 3, 4])
  }

  @Test func `one writer at a time has an unfinished object`() throws {
    let scratch = try ScratchDirectory()
    let (store, other) = (
      try DirectoryStore(directory: scratch.path), try DirectoryStore(directory: scratch.path)
    )
    let first = try store.resume(key, at: start)
    #expect(throws: ObjectStoreError.busy) { try other.resume(key, at: start) }
    first.suspend()
    #expect(throws: ObjectStoreError.self) { try first.write([1]) }
    try other.resume(key, at: start).finish()
  }

  @Test func `dropping a writer keeps the object, abandoning it does not`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    var writer: (any ResumableWriter)? = try store.resume(key, at: start)
    try writer?.write([1])
    writer = nil
    #expect(Files.names(in: scratch.path + "/tmp") == ["\(key)"])
    try store.resume(key, at: ObjectCheckpoint(byteCount: 1, state: [])).abandon()
    #expect(Files.names(in: scratch.path + "/tmp") == [])
  }

  @Test func `a finished object can be finished again, by its whole length only`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.resume(key, at: start)
    try writer.write([1, 2])
    try writer.finish()
    let again = try store.resume(key, at: ObjectCheckpoint(byteCount: 2, state: []))
    #expect(try again.checkpoint(isLast: true).byteCount == 2)
    #expect(throws: ObjectStoreError.self) { try again.write([3]) }
    try store.resume(key, at: ObjectCheckpoint(byteCount: 2, state: [])).finish()
    #expect(throws: ObjectStoreError.incomplete) {
      try store.resume(key, at: ObjectCheckpoint(byteCount: 1, state: []))
    }
    #expect(try contents(store) == [1, 2])
  }

  /// A crash between the two names of a finished object.
  @Test func `an object that has both its names is finished`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.resume(key, at: start)
    try writer.write([1, 2])
    try writer.finish()
    #expect(unsafe link("\(scratch.path)/ab/cd/\(key)", "\(scratch.path)/tmp/\(key)") == 0)
    try store.resume(key, at: ObjectCheckpoint(byteCount: 2, state: [])).finish()
    #expect(Files.names(in: scratch.path + "/tmp") == [])
    #expect(try contents(store) == [1, 2])
  }

  @Test func `the name that a killed writer gave an object is made durable`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let writer = try store.resume(key, at: start)
    try writer.write([1])
    try writer.finish()
    #expect(unsafe link("\(scratch.path)/ab/cd/\(key)", "\(scratch.path)/tmp/\(key)") == 0)
    let watch = try DirectoryWatch(scratch.path + "/ab/cd")
    try store.resume(key, at: ObjectCheckpoint(byteCount: 1, state: [])).finish()
    #expect(watch.wasOpened())
  }

  @Test func `a checkpoint that the store does not reach is refused`() throws {
    let scratch = try ScratchDirectory()
    let store = try DirectoryStore(directory: scratch.path)
    let later = ObjectCheckpoint(byteCount: 5, state: [])
    #expect(throws: ObjectStoreError.incomplete) { try store.resume(key, at: later) }
    try store.resume(key, at: start).write([1])
    #expect(throws: ObjectStoreError.incomplete) { try store.resume(key, at: later) }
  }

  private func contents(_ store: any ObjectStore) throws -> [UInt8] {
    let file = try #require(try store.open(key)).file()
    var bytes = [UInt8](repeating: 0, count: Int(file.byteCount))
    let count = unsafe pread(file.descriptor, &bytes, bytes.count, 0)
    return Array(bytes.prefix(count))
  }
}
