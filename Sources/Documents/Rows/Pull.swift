import Accounts
import Base
import Crypto
import JSON
import Requests
import Storage

/// What a device asks for: the current versions that its clock lacks.
struct Pull: Sendable {
  let clock: VersionClock
  /// Where the page before ended.
  let place: Place?
  let limit: Int

  static let bodyByteCountMax = 192 << 10

  /// A place in the order of a pull, as opaque text. It has no code: no value costs the server more than a page.
  struct Place: Sendable, Equatable {
    let author: [UInt8]
    let counter: Int64

    var text: String {
      Base64.url.encode(
        author + (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * Int64($0))) })
    }
  }

  init(_ body: [UInt8]) throws {
    let json = try JSON.body(body)
    try json.requireMembers(["clock", "cursor", "limit"])
    clock = try VersionClock(json["clock"])
    place =
      try json["cursor"].optionalText(characterCountMax: 100).map { text throws(DocumentRefusal) in
        try Place(text)
      }
    if json["limit"].exists {
      guard let limit = json["limit"].integer, 1...Int64(VersionPage.limitMax) ~= limit else {
        throw RequestRefusal.limitInvalid(max: VersionPage.limitMax)
      }
      self.limit = Int(limit)
    } else {
      limit = VersionPage.limitMax
    }
  }

  /// A page, and what the server learns by the clock.
  struct Page: Sendable {
    let json: JSONValue
    let known: KnownDeletions?
  }

  /// Reads a page: device by device, each one's versions in the order of its counters.
  func read(_ reader: Reader, for caller: Caller, now: Instant) throws -> Page {
    let devices = try DocumentDevice.all(reader, of: caller.account)
    // A clock without devices knows no document that could have been deleted.
    guard clock.isEmpty || devices.allSatisfy({ clock[$0.author] >= $0.collected }) else {
      throw DocumentRefusal.clockExpired
    }
    var page = VersionPage(limit: limit)
    var known = VersionClock()
    for device in devices where device.counter > clock[device.author] && !isBefore(device) {
      let start = device.author == place?.author ? place?.counter ?? 0 : 0
      // A question for each device that an account ever had would cost more than the rows that it pays for.
      if device.hasCurrent {
        try page.add(
          reader, where: "account_id = $1 AND author_key = $2 AND replaced_ms IS NULL",
          [.id(caller.account), .blob(device.author)], "counter",
          after: max(start, clock[device.author]))
      }
      if page.isFull { break }
      known[device.author] = device.counter
    }
    let last = page.isFull ? page.versions.last?.version : nil
    let end = last.map { Place(author: $0.author, counter: $0.counter) }
    let leaving =
      try place == nil ? DocumentDevice.leavingOwners(reader, in: caller.account) : []
    var members: [JSONValue.Member] = [
      .init("versions", .array(page.versions.map { .object($0.members) })),
      .init("clock", known.json), .init("more", .bool(end != nil)),
      .init("cursor", end.map { .string($0.text) } ?? .null),
      .init(
        "counter", .integer(devices.first { $0.author == caller.publicKey }?.counter ?? 0)),
    ]
    if !leaving.isEmpty { members.append(.init("leaving", .array(leaving.map(\.json)))) }
    return Page(
      json: .object(members),
      known: lacksNothing(of: devices, caller) ? try KnownDeletions(reader, caller, now: now) : nil)
  }

  /// Whether the clock has all that is stored, and nothing that the caller has yet to push, maybe of what is gone.
  private func lacksNothing(of devices: [DocumentDevice], _ caller: Caller) -> Bool {
    let own = devices.first { $0.author == caller.publicKey }?.counter ?? 0
    return place == nil && clock[caller.publicKey] == own
      && devices.allSatisfy { clock[$0.author] >= $0.counter }
  }

  private func isBefore(_ device: DocumentDevice) -> Bool {
    place.map { device.author.lexicographicallyPrecedes($0.author) } ?? false
  }
}

extension Pull.Place {
  init(_ text: String) throws(DocumentRefusal) {
    let keyByteCount = Ed25519PublicKey.byteCount
    guard let bytes = Base64.url.decode(Array(text.utf8)), bytes.count == keyByteCount + 8,
      bytes[keyByteCount] < 0x80
    else { throw .cursorInvalid }
    self.init(
      author: Array(bytes[..<keyByteCount]),
      counter: bytes[keyByteCount...].reduce(0) { $0 << 8 | Int64($1) })
  }
}
