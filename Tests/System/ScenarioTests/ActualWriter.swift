import Base
import HTTPClient
import JSON
import SeededRandom
import Testing

/// A client of Actual that syncs, uploads its budget and resets it until an answer is missing, and remembers exactly what
/// was acknowledged.
final class ActualWriter: Sendable {
  private let client = HTTPClient(bodyByteCountMax: 64 << 20)
  private let url: String
  private let token: String
  private let file: String
  private let node: String
  private let state: Locked<State>

  private struct Message: Equatable {
    let stamp: String
    let content: [UInt8]
  }

  private enum Step {
    case sync([Message])
    case upload([UInt8])
    case reset
  }

  private struct State {
    var random: SeededGenerator
    /// The epoch that takes messages; nil since a reset, until the budget is uploaded again.
    var group: String?
    var budget: [UInt8] = []
    /// Those of the group, in the order of timestamps.
    var messages: [Message] = []
    var lastMilliseconds: Int64 = 0
    /// What was asked without an answer.
    var doubt: Step?
    var isLost = false
    var syncCount = 0
    var trouble: [String] = []
  }

  private static let zero = "1970-01-01T00:00:00.000Z-0000-0000000000000000"
  /// More than the server appends in one transaction.
  private static let manyCount = 5500

  /// Logs in, and uploads a budget.
  init(_ sync: Server, password: String, node: Int, seed: UInt64) throws {
    url = sync.url
    self.node = "000000000000000\(node)"
    var random = SeededGenerator(seed: seed)
    file = Identifier(high: random.next(), low: random.next()).description
    let body: JSONValue = ["loginMethod": "password", "password": .string(password)]
    let answer = try client.send(
      "POST", url + "/account/login", headers: [("Content-Type", "application/json")],
      body: body.encoded(), timeout: .seconds(60))
    token = try JSON.parse(answer.body)["data"]["token"].requireString()
    state = Locked(State(random: random))
    try state.withLock { try act(&$0) }
  }

  var syncCount: Int { state.withLock { $0.syncCount } }

  func writeUntilLost() {
    state.withLock { state in
      while !state.isLost, state.trouble.isEmpty {
        do { try act(&state) } catch let error as ScenarioError {
          state.trouble.append("\(error)")
        } catch {
          state.isLost = true
        }
      }
    }
  }

  private func act(_ state: inout State) throws {
    let step = next(&state)
    state.doubt = step
    try note(send(step, state), step, &state)
    state.doubt = nil
  }

  private func next(_ state: inout State) -> Step {
    let choice = Int.random(in: 0..<16, using: &state.random)
    if state.group == nil || choice < 3 {
      return .upload(state.random.bytes(count: .random(in: 1...20_000, using: &state.random)))
    }
    switch choice {
    case 3, 4: return .reset
    case 5: return .sync(messages(Self.manyCount, &state))
    default: return .sync(messages(.random(in: 1...20, using: &state.random), &state))
    }
  }

  /// Messages later than all before.
  private func messages(_ count: Int, _ state: inout State) -> [Message] {
    let milliseconds = max(state.lastMilliseconds + 1, Clock.system.now().milliseconds)
    state.lastMilliseconds = milliseconds
    let seconds = "\(Instant(seconds: milliseconds / 1000))".dropLast()
    let moment = "\(seconds).\(String(1000 + milliseconds % 1000).dropFirst())Z"
    return (0..<count).map { index in
      let counter = String(0x1_0000 + index, radix: 16, uppercase: true).dropFirst()
      let byteCount = count == Self.manyCount ? 1 : 1 + index * 7 % 90
      return Message(
        stamp: "\(moment)-\(counter)-\(node)", content: state.random.bytes(count: byteCount))
    }
  }

  private func note(_ reply: HTTPClient.Reply, _ step: Step, _ state: inout State) throws {
    guard reply.status == 200 else {
      throw ScenarioError("\(reply.status) \(String(decoding: reply.body, as: UTF8.self))")
    }
    switch step {
    case .sync(let messages):
      state.messages += messages
      state.syncCount += 1
    case .upload(let budget):
      let group = try JSON.parse(reply.body)["groupId"].requireString()
      guard state.group == nil || state.group == group else {
        throw ScenarioError("an upload has begun another group")
      }
      if state.group == nil { state.messages = [] }
      (state.group, state.budget) = (group, budget)
    case .reset: state.group = nil
    }
  }

  // MARK: Requests

  private func send(_ step: Step, _ state: State) throws -> HTTPClient.Reply {
    switch step {
    case .sync(let messages): return try sync(messages, since: messages.last?.stamp, state)
    case .upload(let budget):
      let group = state.group.map { [("X-ACTUAL-GROUP-ID", $0)] } ?? []
      return try send(
        "POST", "/sync/upload-user-file",
        [
          ("X-ACTUAL-FORMAT", "2"), ("X-ACTUAL-FILE-ID", file), ("X-ACTUAL-NAME", "Household"),
          ("Content-Type", "application/encrypted-file"),
        ] + group, budget)
    case .reset:
      let body: JSONValue = ["fileId": .string(file)]
      return try send(
        "POST", "/sync/reset-user-file", [("Content-Type", "application/json")], body.encoded())
    }
  }

  private func send(
    _ method: String, _ target: String, _ headers: [(String, String)], _ body: [UInt8]? = nil
  ) throws -> HTTPClient.Reply {
    try client.send(
      method, url + target, headers: [("X-ACTUAL-TOKEN", token)] + headers, body: body,
      timeout: .seconds(60))
  }

  private func sync(
    _ messages: [Message], since: String?, _ state: State
  ) throws -> HTTPClient.Reply {
    let envelopes = messages.flatMap { message in
      Self.field(1, Self.field(1, Array(message.stamp.utf8)) + Self.field(3, message.content))
    }
    let names = [(2, file), (3, state.group ?? ""), (6, since ?? Self.zero)] as [(UInt8, String)]
    return try send(
      "POST", "/sync/sync", [("Content-Type", "application/actual-sync")],
      envelopes + names.flatMap { Self.field($0.0, Array($0.1.utf8)) })
  }

  /// A field of Protocol Buffers that has a length.
  private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
    var (bytes, rest) = ([number << 3 | 2], content.count)
    while rest >= 128 {
      bytes.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return bytes + [UInt8(rest)] + content
  }

  /// The fields of a message whose fields all have a length, as those of answers do.
  private static func fields(
    _ bytes: ArraySlice<UInt8>
  ) throws -> [(number: UInt8, content: ArraySlice<UInt8>)] {
    var rest = bytes
    var fields: [(number: UInt8, content: ArraySlice<UInt8>)] = []
    while let tag = rest.popFirst() {
      var (count, shift, isLast) = (0, 0, false)
      while !isLast, let byte = rest.popFirst() {
        count |= Int(byte & 127) << shift
        shift += 7
        isLast = byte < 128
      }
      guard tag & 7 == 2, isLast, count <= rest.count else {
        throw ScenarioError("an answer is cut off")
      }
      fields.append((tag >> 3, rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return fields
  }

  // MARK: After a crash

  /// Does what a client does without an answer, and then checks everything.
  func checkAfterCrash() throws {
    try state.withLock { state in
      #expect(state.trouble == [])
      guard state.isLost else { throw ScenarioError("the load ended before the crash") }
      state.isLost = false
      if let step = state.doubt {
        state.doubt = nil
        try settle(step, &state)
      }
      try check(state)
    }
  }

  /// Sends a request again, unless it began a group. Then the server says that it did.
  private func settle(_ step: Step, _ state: inout State) throws {
    if case .upload(let budget) = step {
      let stored = try download()
      guard stored == budget || stored == state.budget else {
        throw ScenarioError("the budget of \(file) is neither the one before nor the new one")
      }
      if state.group == nil, let group = try group() {
        (state.group, state.budget, state.messages) = (group, budget, [])
        return
      }
    }
    try note(send(step, state), step, &state)
  }

  /// Expects that a new device gets the budget and every message that was acknowledged, and no other.
  private func check(_ state: State) throws {
    #expect(try group() == state.group)
    let isSame = try download() == state.budget
    #expect(isSame, "the budget of \(file) is not the one that was acknowledged")
    guard state.group != nil else { return }
    let reply = try sync([], since: nil, state)
    guard reply.status == 200 else { throw ScenarioError("a sync is answered \(reply.status)") }
    let found = try Self.fields(reply.body[...]).filter { $0.number == 1 }.map { envelope in
      let fields = try Self.fields(envelope.content)
      let stamp = fields.first { $0.number == 1 }?.content ?? []
      return Message(
        stamp: String(decoding: stamp, as: UTF8.self),
        content: Array(fields.first { $0.number == 3 }?.content ?? []))
    }
    let hasAll = found == state.messages
    #expect(
      hasAll, "\(file) has \(found.count) messages, and \(state.messages.count) were acknowledged")
  }

  private func group() throws -> String? {
    let reply = try send("GET", "/sync/get-user-file-info", [("X-ACTUAL-FILE-ID", file)])
    guard reply.status == 200 else { throw ScenarioError("\(file) is answered \(reply.status)") }
    return try JSON.parse(reply.body)["data"]["groupId"].string
  }

  private func download() throws -> [UInt8] {
    let reply = try send("GET", "/sync/download-user-file", [("X-ACTUAL-FILE-ID", file)])
    guard reply.status == 200 else { throw ScenarioError("\(file) is answered \(reply.status)") }
    return reply.body
  }
}
