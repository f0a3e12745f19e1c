import Base
import JSON
import SeededRandom
import TestDevices
import Testing

/// A device that writes as fast as it can and remembers exactly what was acknowledged.
final class Writer: Sendable {
  let device: TestDevice
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var documents: [Document] = []
    /// The request whose answer was lost.
    var lost: (document: Int, request: TestDevice.Signed)?
    var acknowledgedCount = 0
    var trouble: [String] = []

    mutating func note(_ answer: Answer, to request: TestDevice.Signed, for index: Int) {
      guard answer.status == 200, let version = try? answer.json["version"].integer else {
        trouble.append("\(UnexpectedAnswer(answer))")
        return
      }
      acknowledgedCount += 1
      documents[index].version = version
      documents[index].content = request.body
    }
  }

  /// A document in the state of its last answer.
  private struct Document {
    let id: Identifier
    /// Rewritten documents move between the two stores when their size changes.
    let byteCounts: [Int]
    var version: Int64 = 0
    var content: [UInt8] = []
  }

  /// Six documents that stay below the free cap: small, large, and two that change in kind.
  init(_ device: TestDevice, seed: UInt64) throws {
    self.device = device
    state = Locked(State(random: SeededGenerator(seed: seed)))
    for byteCounts in [[4096], [4096], [0, 4096], [40_000], [40_000], [4096, 40_000]] {
      let (id, answer) = try device.create()
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      state.withLock { $0.documents.append(Document(id: id, byteCounts: byteCounts)) }
    }
  }

  var acknowledgedCount: Int { state.withLock { $0.acknowledgedCount } }

  /// Writes one content after another until an answer is missing.
  func writeUntilLost() {
    state.withLock { state in
      while state.lost == nil, state.trouble.isEmpty { writeOnce(&state) }
    }
  }

  func write(times count: Int) {
    state.withLock { state in
      for _ in 0..<count { writeOnce(&state) }
    }
  }

  private func writeOnce(_ state: inout State) {
    let index = Int.random(in: state.documents.indices, using: &state.random)
    let document = state.documents[index]
    guard let byteCount = document.byteCounts.randomElement(using: &state.random) else { return }
    let request = device.sign(
      "PUT", "/v1/files/\(document.id)/content", body: state.random.bytes(count: byteCount),
      headers: [("If-Match", "\"\(document.version)\"")])
    do {
      let answer = try Balancer.repeated(\.status) { try device.send(request) }
      state.note(answer, to: request, for: index)
    } catch {
      state.lost = (index, request)
    }
  }

  /// Repeats the request that got no answer, as a client would, then checks everything.
  ///
  /// Whether or not the write was committed before the crash, it takes effect once.
  func checkAfterCrash() throws {
    let lost = try #require(state.withLock { $0.lost }, "the load ended before the crash")
    let before = try device.get("/v1/files/\(state.withLock { $0.documents[lost.document].id })")
    let answer = try device.send(lost.request)
    state.withLock { state in
      let known = state.documents[lost.document].version
      let found = (try? before.json["content"]["version"].integer) ?? -1
      state.note(answer, to: lost.request, for: lost.document)
      let now = state.documents[lost.document].version
      if found != known, found != now {
        state.trouble.append("version \(known) became \(found) by no request, then \(now)")
      }
    }
    try check()
  }

  /// Expects that everything acknowledged reads back byte for byte, and that usage is its sum.
  func check() throws {
    #expect(state.withLock { $0.trouble } == [])
    try check(through: device)
  }

  /// The same check as seen by another device of the account.
  func check(through device: TestDevice) throws {
    let documents = state.withLock { $0.documents }
    for document in documents {
      let answer = try device.get("/v1/files/\(document.id)/content")
      #expect(answer.status == 200)
      #expect(answer.header("ETag") == "\"\(document.version)\"")
      #expect(answer.holds(document.content), "\(document.id) reads back otherwise")
    }
    let records = documents.count + 1
    let sum = documents.reduce(1000 * records) { $0 + $1.content.count }
    #expect(try device.get("/v1/account").json["usage"].integer == Int64(sum))
  }
}
