import Base
import Crypto
import JSON
import SeededRandom
import TestDevices
import Testing

/// A device that writes, uploads in parts, deletes and restores contents until an answer is missing, and remembers exactly
/// what was acknowledged.
final class ContentWriter: Sendable {
  /// A plan under which some of what is replaced becomes garbage, and the rest stays.
  static let catalogue = """
    {"version": "crashes", "free": {"id": "free", "title": "Free", "bytes": 100000000,
      "limits": {"history_days": 30, "history_versions": \(versionCountMax), "trash_days": 30}},
      "plans": []}
    """
  private static let versionCountMax = 2

  let device: TestDevice
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var documents: [Document] = []
    var upload: Upload?
    /// The request without an answer.
    var doubt: (request: TestDevice.Signed, step: Step)?
    var isLost = false
    var acknowledgedCount = 0
    var trouble: [String] = []
  }

  /// A document in the state of its last answer.
  private struct Document {
    let id: Identifier
    var version: Int64 = 0
    var content: [UInt8] = []
    var kept: [(version: Int64, content: [UInt8])] = []
    var isDeleted = false

    mutating func replace(_ version: Int64, _ content: [UInt8]) {
      if self.version > 0 { kept.append((self.version, self.content)) }
      kept = kept.suffix(ContentWriter.versionCountMax)
      (self.version, self.content) = (version, content)
    }
  }

  private struct Upload {
    let url: String
    let document: Int
    let content: [UInt8]
    var offset = 0
  }

  private enum Step {
    case put(Int, [UInt8])
    case restoreVersion(Int, Int64)
    case delete(Int)
    case undelete(Int)
    case begin(Int, [UInt8])
    case append(Int)
  }

  init(_ device: TestDevice, seed: UInt64) throws {
    self.device = device
    state = Locked(State(random: SeededGenerator(seed: seed)))
    for _ in 0..<4 {
      let (id, answer) = try device.create()
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      state.withLock { $0.documents.append(Document(id: id)) }
    }
  }

  var acknowledgedCount: Int { state.withLock { $0.acknowledgedCount } }

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
    let step = choose(&state)
    let request = try request(step, state)
    state.doubt = (request, step)
    let answer = try device.send(request)
    state.doubt = nil
    try note(answer, step, &state)
  }

  private func choose(_ state: inout State) -> Step {
    var index = Int.random(in: state.documents.indices, using: &state.random)
    let kind = Int.random(in: 0..<10, using: &state.random)
    if let upload = state.upload {
      // The document of the upload stays as it is, so that the last append is accepted.
      if kind < 5 {
        let rest = upload.content.count - upload.offset
        return .append(min(rest, Int.random(in: 1...rest + 100_000, using: &state.random)))
      }
      if index == upload.document { index = (index + 1) % state.documents.count }
    }
    let document = state.documents[index]
    if document.isDeleted { return .undelete(index) }
    switch kind {
    case 9: return .delete(index)
    case 8:
      guard let kept = document.kept.randomElement(using: &state.random) else { fallthrough }
      return .restoreVersion(index, kept.version)
    case 6, 7:
      guard state.upload == nil else { fallthrough }
      return .begin(index, content([300_000, 9_000_000], &state))
    default: return .put(index, content([4096, 40_000, 1_200_000], &state))
    }
  }

  private func content(_ byteCounts: [Int], _ state: inout State) -> [UInt8] {
    let byteCount = byteCounts.randomElement(using: &state.random) ?? 0
    let block = state.random.bytes(count: 1024)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount + block.count)
    while bytes.count < byteCount { bytes += block }
    return Array(bytes.prefix(byteCount))
  }

  private func request(_ step: Step, _ state: State) throws -> TestDevice.Signed {
    func signed(
      _ method: String, _ path: String, _ index: Int, _ body: [UInt8]
    ) -> TestDevice.Signed {
      let document = state.documents[index]
      return device.sign(
        method, "/v1/files/\(document.id)/\(path)", body: body,
        headers: [("If-Match", "\"\(document.version)\"")])
    }
    switch step {
    case .put(let index, let content): return signed("PUT", "content", index, content)
    case .restoreVersion(let index, let version):
      let body = JSONValue.object([.init("version", .integer(version))])
      return signed("POST", "restore", index, body.encoded())
    case .delete(let index):
      let change = try device.record(state.documents[index].id).change { $0.deleted = true }
      return device.sign(
        "POST", "/v1/files", body: device.batchBody(files: [change]).encoded())
    case .undelete(let index):
      return device.sign("POST", "/v1/trash/\(state.documents[index].id)/restore", body: [])
    case .begin(let index, let content):
      return device.sign(
        "PUT", "/v1/files/\(state.documents[index].id)/content",
        headers: [("Upload-Draft-Interop-Version", "8"), ("Upload-Complete", "?0")],
        covering: [
          ("If-Match", "\"\(state.documents[index].version)\""),
          ("Upload-Length", "\(content.count)"),
          ("Repr-Digest", "sha-256=:\(Base64.standard.encode(SHA256.hash(content))):"),
        ])
    case .append(let byteCount):
      let upload = try #require(state.upload)
      let end = upload.offset + byteCount
      return .init(
        method: "PATCH", target: upload.url,
        headers: [
          ("Upload-Draft-Interop-Version", "8"), ("Upload-Offset", "\(upload.offset)"),
          ("Upload-Complete", end == upload.content.count ? "?1" : "?0"),
          ("Content-Type", "application/partial-upload"),
        ], body: Array(upload.content[upload.offset..<end]))
    }
  }

  private func note(_ answer: Answer, _ step: Step, _ state: inout State) throws {
    // Replaced contents wait to be collected.
    if answer.status == 429 { return }
    switch step {
    case .put(let index, let content):
      state.documents[index].replace(try version(answer), content)
    case .restoreVersion(let index, let version):
      let number = try self.version(answer)
      let kept = state.documents[index].kept.first { $0.version == version }
      state.documents[index].kept.removeAll { $0.version == version }
      state.documents[index].replace(number, kept?.content ?? [])
    case .delete(let index):
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      state.documents[index].isDeleted = true
    case .undelete(let index):
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      state.documents[index].isDeleted = false
    case .begin(let index, let content):
      guard answer.status == 201, let url = answer.header("location") else {
        throw UnexpectedAnswer(answer)
      }
      state.upload = Upload(url: url, document: index, content: content)
    case .append:
      guard let upload = state.upload else { return }
      if answer.status == 204, let offset = answer.header("upload-offset").flatMap({ Int($0) }) {
        state.upload?.offset = offset
      } else {
        state.documents[upload.document].replace(try version(answer), upload.content)
        state.upload = nil
      }
    }
    state.acknowledgedCount += 1
  }

  private func version(_ answer: Answer) throws -> Int64 {
    guard answer.status == 200, let version = try answer.json["version"].integer else {
      throw UnexpectedAnswer(answer)
    }
    return version
  }

  // MARK: After a crash

  /// Sends the request without an answer again, or asks how far the upload is, and then checks everything.
  func checkAfterCrash() throws {
    try state.withLock { state in
      #expect(state.trouble == [])
      guard state.isLost else { throw ScenarioError("the load ended before the crash") }
      state.isLost = false
      guard let (request, step) = state.doubt else { return }
      state.doubt = nil
      if case .append(let byteCount) = step {
        try ask(byteCount, &state)
      } else {
        try note(device.send(request), step, &state)
      }
    }
    try check()
  }

  /// The bytes that were acknowledged are there; of the last request any number may be.
  private func ask(_ byteCount: Int, _ state: inout State) throws {
    guard let upload = state.upload else { return }
    let answer = try device.send(
      .init(
        method: "HEAD", target: upload.url, headers: [("Upload-Draft-Interop-Version", "8")],
        body: []))
    guard answer.status == 204, let offset = answer.header("upload-offset").flatMap({ Int($0) })
    else { throw UnexpectedAnswer(answer) }
    #expect(offset >= upload.offset && offset <= upload.offset + byteCount)
    state.upload?.offset = offset
    guard answer.header("upload-complete") == "?1" else { return }
    let tag = try #require(answer.header("etag")?.filter { $0 != "\"" })
    state.documents[upload.document].replace(try #require(Int64(tag)), upload.content)
    state.upload = nil
  }

  /// Expects that everything acknowledged reads back byte for byte, and that usage is its sum.
  func check() throws {
    let documents = state.withLock { $0.documents }
    for document in documents {
      let target = "/v1/files/\(document.id)/content"
      let current = try device.get(target)
      #expect(current.status == (document.isDeleted ? 410 : 200))
      guard !document.isDeleted else { continue }
      #expect(current.header("etag") == "\"\(document.version)\"")
      #expect(current.holds(document.content), "\(document.id) reads back otherwise")
      for kept in document.kept {
        let answer = try device.get("\(target)?version=\(kept.version)")
        #expect(answer.status == 200)
        #expect(answer.holds(kept.content), "version \(kept.version) reads back otherwise")
      }
    }
    let sum = documents.reduce(1000 * (documents.count + 1)) { sum, document in
      document.kept.reduce(sum + document.content.count) { $0 + $1.content.count }
    }
    #expect(try device.get("/v1/account").json["usage"].integer == Int64(sum))
  }
}
