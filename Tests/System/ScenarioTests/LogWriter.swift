import Base
import JSON
import SeededRandom
import TestDevices
import Testing

/// A device that appends to a log, stores snapshots and begins epochs until an answer is missing, and remembers exactly
/// what was acknowledged.
final class LogWriter: Sendable {
  private let device: TestDevice
  private let log: Identifier
  private let node: String
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var epoch: String
    /// Behind everything that was acknowledged; nil at the beginning.
    var cursor: String?
    var snapshotVersion: Int64 = 0
    /// The cursor of the snapshot that the next epoch may begin with.
    var covered: String?
    /// Whether the epoch has messages of its own. Without them no other can begin.
    var hasMessages = false
    var edits: [Int64] = []
    var lastEdit: Int64 = 0
    var lastMilliseconds: Int64 = 0
    /// The request without an answer.
    var doubt: (request: TestDevice.Signed, step: Step)?
    var isLost = false
    var epochCount = 0
    var trouble: [String] = []
  }

  private enum Step {
    /// The numbers of the edits.
    case append([Int64])
    case putSnapshot(covers: String)
    case beginEpoch
  }

  private static let editByteCount = 8

  init(_ device: TestDevice, node: Int, seed: UInt64) throws {
    self.device = device
    self.node = "000000000000000\(node)"
    var random = SeededGenerator(seed: seed)
    log = Identifier(high: random.next(), low: random.next())
    let answer = try device.post(
      "/v1/logs", ["id": .string(log.description), "name": "AQID"])
    guard answer.status == 201, let epoch = try answer.json["epoch"].string else {
      throw UnexpectedAnswer(answer)
    }
    state = Locked(State(random: random, epoch: epoch))
  }

  var acknowledgedCount: Int { state.withLock { $0.edits.count } }
  var epochCount: Int { state.withLock { $0.epochCount } }

  private var path: String { "/v1/logs/\(log)" }

  func writeUntilLost() {
    state.withLock { state in
      while !state.isLost, state.trouble.isEmpty {
        do { try act(&state) } catch let error as UnexpectedAnswer {
          state.trouble.append("\(error)")
        } catch {
          state.isLost = true
        }
      }
    }
  }

  private func act(_ state: inout State) throws {
    let (request, step) = try next(&state)
    state.doubt = (request, step)
    let answer = try device.send(request)
    state.doubt = nil
    try note(answer, step, &state)
  }

  private func next(_ state: inout State) throws -> (request: TestDevice.Signed, step: Step) {
    if let covered = state.covered, Int.random(in: 0..<2, using: &state.random) == 0 {
      let body = JSONValue.object([.init("covers", .string(covered))]).encoded()
      return (device.sign("POST", "\(path)/epochs", body: body), .beginEpoch)
    }
    if state.covered == nil, state.hasMessages, Int.random(in: 0..<6, using: &state.random) == 0 {
      try readOn(&state)
      if let cursor = state.cursor { return putSnapshot(cursor, state) }
    }
    let edits = (1...Int64.random(in: 1...20, using: &state.random)).map { state.lastEdit + $0 }
    state.lastEdit += Int64(edits.count)
    var messages: [JSONValue] = []
    for edit in edits {
      let padding = state.random.bytes(count: .random(in: 0...100, using: &state.random))
      let content = Base64.standard.encode(Self.bytes(of: edit) + padding)
      messages.append(["t": .string(stamp(&state)), "c": .string(content)])
    }
    let body = JSONValue.object([
      .init("epoch", .string(state.epoch)), .init("messages", .array(messages)),
    ])
    let request = device.sign("POST", "\(path)/messages", body: body.encoded())
    return (request, .append(edits))
  }

  private func putSnapshot(
    _ cursor: String, _ state: State
  ) -> (request: TestDevice.Signed, step: Step) {
    let request = device.sign(
      "PUT", "\(path)/snapshot?covers=\(cursor)", body: state.edits.flatMap(Self.bytes),
      headers: [("If-Match", "\"\(state.snapshotVersion)\"")])
    return (request, .putSnapshot(covers: cursor))
  }

  /// A timestamp later than all before.
  private func stamp(_ state: inout State) -> String {
    let milliseconds = max(state.lastMilliseconds + 1, Clock.system.now().milliseconds)
    state.lastMilliseconds = milliseconds
    let seconds = "\(Instant(seconds: milliseconds / 1000))".dropLast()
    return "\(seconds).\(String(1000 + milliseconds % 1000).dropFirst())Z-0000-\(node)"
  }

  private static func bytes(of edit: Int64) -> [UInt8] {
    (0..<editByteCount).map { UInt8(truncatingIfNeeded: edit >> (56 - 8 * Int64($0))) }
  }

  private static func edit(_ bytes: some Sequence<UInt8>) -> Int64 {
    bytes.prefix(editByteCount).reduce(0) { $0 << 8 | Int64($1) }
  }

  private func note(_ answer: Answer, _ step: Step, _ state: inout State) throws {
    let json = try answer.json
    switch step {
    case .append(let edits):
      // A repeat adds all of them, or none if they are there.
      guard answer.status == 200, let added = json["added"].integer,
        added == 0 || added == Int64(edits.count), json["different"].array?.isEmpty == true
      else { throw UnexpectedAnswer(answer) }
      state.edits += edits
      state.hasMessages = true
    case .putSnapshot(let covers):
      let tag = answer.header("etag")?.filter { $0 != "\"" }
      guard answer.status == 200, let version = tag.flatMap({ Int64($0) }) else {
        throw UnexpectedAnswer(answer)
      }
      (state.snapshotVersion, state.covered) = (version, covers)
    case .beginEpoch:
      guard answer.status == 201, let epoch = json["epoch"].string, epoch != state.epoch,
        let cursor = json["snapshot"]["covers"].string
      else { throw UnexpectedAnswer(answer) }
      (state.epoch, state.cursor, state.covered, state.hasMessages) = (epoch, cursor, nil, false)
      state.epochCount += 1
    }
  }

  /// Reads on behind the cursor. Returns the edits.
  @discardableResult
  private func readOn(_ state: inout State) throws -> [Int64] {
    var edits: [Int64] = []
    while true {
      let after = state.cursor.map { "&cursor=\($0)" } ?? ""
      let answer = try device.get("\(path)/messages?limit=5000\(after)")
      let json = try answer.json
      guard answer.status == 200, let cursor = json["cursor"].string else {
        throw UnexpectedAnswer(answer)
      }
      for message in json["messages"].array ?? [] {
        let content = message["c"].string.flatMap { Base64.standard.decode(Array($0.utf8)) }
        edits.append(Self.edit(content ?? []))
      }
      state.cursor = cursor
      if json["more"].bool != true { return edits }
    }
  }

  // MARK: After a crash

  /// Sends the request without an answer again, and then checks everything.
  func checkAfterCrash() throws {
    try state.withLock { state in
      #expect(state.trouble == [])
      guard state.isLost else { throw ScenarioError("the load ended before the crash") }
      state.isLost = false
      if let (request, step) = state.doubt {
        state.doubt = nil
        try note(device.send(request), step, &state)
      }
      try check(state)
    }
  }

  /// Expects that a new device gets every edit that was acknowledged and no other, and that usage is the sum.
  private func check(_ state: State) throws {
    let shown = try device.get(path)
    let json = try shown.json
    guard shown.status == 200, json["epoch"].string == state.epoch,
      let byteCount = json["bytes"].integer
    else { throw UnexpectedAnswer(shown) }
    var edits: [Int64] = []
    if !json["snapshot"].isNull {
      let snapshot = try device.get("\(path)/snapshot").body
      for start in stride(from: 0, to: snapshot.count, by: Self.editByteCount) {
        edits.append(Self.edit(snapshot[start...]))
      }
      #expect(json["snapshot"]["version"].integer == state.snapshotVersion)
    }
    var joining = state
    joining.cursor = json["snapshot"]["covers"].string
    edits += try readOn(&joining)
    #expect(edits == state.edits, "\(log) has other edits than those that were acknowledged")
    // The root, and the log as a record.
    let usage = 2000 + byteCount + (json["snapshot"]["bytes"].integer ?? 0)
    #expect(try device.get("/v1/account").json["usage"].integer == usage)
  }
}
