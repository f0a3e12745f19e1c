import Base
import Objects

/// What a store of objects holds, apart from any program that uses it. A crash leaves what is durable.
struct SimulatedDisk {
  struct Object {
    var bytes: [UInt8]
    var written: Instant
  }

  struct Unfinished {
    var bytes: [UInt8] = []
    /// The first bytes that survive a crash.
    var durableByteCount = 0
    /// The writer that has it open.
    var writer: Identifier?
    var written: Instant
  }

  var objects: [Identifier: Object] = [:]
  var unfinished: [Identifier: Unfinished] = [:]
  /// Objects that were sent, and that land whenever they like.
  var late: [(key: Identifier, bytes: [UInt8])] = []
  /// Objects that the store said it has, and has not. Only a mistake puts them here.
  var unwritten: Set<Identifier> = []
  var running: Set<Identifier> = []
  var holdCount = 0
  var owner: ObjectOwner?

  /// Everything that was not durable is gone, and no program runs.
  mutating func crash() {
    for key in unwritten { objects[key] = nil }
    unwritten = []
    running = []
    for (key, var object) in unfinished {
      object.bytes.removeLast(object.bytes.count - object.durableByteCount)
      object.writer = nil
      unfinished[key] = object
    }
  }

  /// One of the late objects lands.
  mutating func land(_ index: Int, at now: Instant) {
    let (key, bytes) = late.remove(at: index)
    objects[key] = Object(bytes: bytes, written: now)
  }
}
