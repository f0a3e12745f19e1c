import Base
import Crypto
import JSON
import Requests
import TestDevices

typealias Key = [UInt8]
/// Counters by devices.
typealias Clock = [Key: Int64]

/// What a device says of a document. Its body is a set of edits, so the merge of two bodies has the edits of both.
struct Version: Hashable {
  let document: Identifier
  let author: Key
  let counter: Int64
  let clock: Clock
  /// Nil for a deletion, or a removal.
  let body: [UInt8]?
  /// The other account that gets it, or is removed from the document; nil if none is.
  let to: Identifier?

  private static let editByteCount = 8

  /// The edits that a body has, before a padding of zeros.
  var edits: Set<UInt64> {
    let body = body ?? []
    let starts = stride(from: 0, through: body.count - Self.editByteCount, by: Self.editByteCount)
    let numbers = starts.map { (start) -> UInt64 in
      body[start..<(start + Self.editByteCount)].reduce(0) { $0 << 8 | UInt64($1) }
    }
    return Set(numbers.filter { $0 > 0 })
  }

  static func body(_ edits: Set<UInt64>, paddedBy byteCount: Int) -> [UInt8] {
    edits.sorted().flatMap { edit in
      (0..<8).map { UInt8(truncatingIfNeeded: edit >> (56 - 8 * UInt64($0))) }
    } + [UInt8](repeating: 0, count: byteCount)
  }

  /// Whether it deletes the document in its own account.
  var isDeletion: Bool { body == nil && to == nil }
  /// Whether it removes the other account from the document.
  var isRemoval: Bool { body == nil && to != nil }
  var isShared: Bool { body != nil && to != nil }

  func isCovered(by clock: Clock) -> Bool { counter <= clock[author] ?? 0 }

  /// The charge besides the fee of a record.
  var byteCount: Int64 {
    Int64((body?.count ?? 0) + 40 * clock.count + 128 * (to == nil ? 1 : 2))
  }

  // MARK: JSON

  private var statement: JSONValue {
    var members: [JSONValue.Member] = [
      .init("document", .string(document.description)), .init("author", .base64(author)),
      .init("counter", .integer(counter)), .init("created", .integer(1_780_000_000)),
      .init("clock", Self.json(clock)), .init("deleted", .bool(body == nil)),
    ]
    if let to { members.append(.init("to", .array([.string(to.description)]))) }
    if let body { members += [.init("secret", .base64([7])), .init("body", .base64(body))] }
    return .object(members)
  }

  func signed(by key: Ed25519PrivateKey) -> JSONValue {
    let signed = JSONValue.object([.init("version", statement)]).canonical()
    return ["version": statement, "signature": .base64(key.signature(for: signed))]
  }

  init(
    _ document: Identifier, by author: Key, _ counter: Int64, covering clock: Clock,
    _ body: [UInt8]?, to: Identifier? = nil
  ) {
    (self.document, self.author, self.counter) = (document, author, counter)
    (self.clock, self.body, self.to) = (clock, body, to)
  }

  /// Reads a version that an answer has.
  init?(_ json: JSON) {
    let version = json["version"]
    guard let document = version["document"].identifier, let author = version["author"].base64,
      let counter = version["counter"].integer, let isDeletion = version["deleted"].bool
    else { return nil }
    self.init(
      document, by: author, counter, covering: Self.clock(version["clock"]),
      isDeletion ? nil : version["body"].base64, to: version["to"][0].identifier)
  }

  /// The same for its own account alone.
  var unshared: Version { Version(document, by: author, counter, covering: clock, body) }

  static func json(_ clock: Clock) -> JSONValue {
    .object(
      clock.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
        .init(Base64.standard.encode($0.key), .integer($0.value))
      })
  }

  static func clock(_ json: JSON) -> Clock {
    var clock: Clock = [:]
    for (name, value) in json.members ?? [] {
      clock[Base64.standard.decode(name) ?? []] = value.integer
    }
    return clock
  }
}
