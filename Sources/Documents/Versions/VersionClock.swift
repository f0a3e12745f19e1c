import Base
import Crypto
import JSON
import Requests

/// Up to which counter the versions of each device are known. A device that it does not name has 0.
struct VersionClock: Equatable, Sendable {
  private var counters: [[UInt8]: Int64] = [:]

  /// As many as the keys that an account can have in its life, and as many of other accounts.
  static let entryCountMax = 2000
  /// The most devices of other accounts that an account remembers, and of one of these: twice as many as it can have.
  static let foreignCountMax: Int64 = 1000
  static let foreignCountOfOneMax: Int64 = 128
  /// A key and its counter.
  static let entryByteCount = Ed25519PublicKey.byteCount + 8

  init() {}

  init(_ json: JSON) throws(RequestRefusal) {
    guard let members = json.members, members.count <= Self.entryCountMax else {
      throw .bodyInvalid(
        path: json.path, rule: "must be an object of at most \(Self.entryCountMax) counters")
    }
    for (name, value) in members {
      guard let key = Base64.standard.decode(name), key.count == Ed25519PublicKey.byteCount else {
        throw .bodyInvalid(path: value.path, rule: "must have the name of a device key, in base64")
      }
      counters[key] = try value.counter()
    }
  }

  /// Nil if no program of ours wrote the bytes.
  init?(bytes: [UInt8]) {
    guard bytes.count.isMultiple(of: Self.entryByteCount) else { return nil }
    for start in stride(from: 0, to: bytes.count, by: Self.entryByteCount) {
      let end = start + Ed25519PublicKey.byteCount
      counters[Array(bytes[start..<end])] = bytes[end..<(start + Self.entryByteCount)]
        .reduce(0) { $0 << 8 | Int64($1) }
    }
  }

  var bytes: [UInt8] {
    counters.sorted { $0.key.lexicographicallyPrecedes($1.key) }.flatMap { key, counter in
      key + (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * Int64($0))) }
    }
  }

  var json: JSONValue {
    .object(counters.map { .init(Base64.standard.encode($0.key), .integer($0.value)) })
  }

  var isEmpty: Bool { counters.isEmpty }
  var count: Int { counters.count }

  subscript(_ device: [UInt8]) -> Int64 {
    get { counters[device] ?? 0 }
    set { counters[device] = newValue }
  }
}

extension JSON {
  /// A counter of a device: 1 or more, and exact in every reader of canonical JSON.
  func counter() throws(RequestRefusal) -> Int64 {
    guard let counter = integer, 1...JSONValue.canonicalIntegerMax ~= counter else {
      throw .bodyInvalid(
        path: path, rule: "must be a number from 1 to \(JSONValue.canonicalIntegerMax)")
    }
    return counter
  }
}
