import Base
import JSON
import SeededRandom
import TestDevices
import Testing

/// A device that rewrites its documents and remembers every acknowledged version.
final class KeepingWriter: Sendable {
  let device: TestDevice
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var documents: [Document] = []
    var trouble: [String] = []
  }

  private struct Document {
    let id: Identifier
    var version: Int64 = 0
    var contents: [Int64: [UInt8]] = [0: []]
  }

  private static let byteCounts = [0, 900, 16_384, 16_385, 60_000]

  init(_ device: TestDevice, seed: UInt64) throws {
    self.device = device
    state = Locked(State(random: SeededGenerator(seed: seed)))
    for _ in 0..<5 {
      let (id, answer) = try device.create()
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      state.withLock { $0.documents.append(Document(id: id)) }
    }
  }

  var trouble: [String] { state.withLock { $0.trouble } }

  var versions: [Identifier: Int64] {
    state.withLock { state in
      Dictionary(uniqueKeysWithValues: state.documents.map { ($0.id, $0.version) })
    }
  }

  func write(times count: Int) {
    state.withLock { state in
      for _ in 0..<count where state.trouble.isEmpty {
        do { try write(&state) } catch { state.trouble.append("\(error)") }
      }
    }
  }

  private func write(_ state: inout State) throws {
    let index = Int.random(in: state.documents.indices, using: &state.random)
    let byteCount = Self.byteCounts.randomElement(using: &state.random) ?? 0
    let content = state.random.bytes(count: byteCount)
    let document = state.documents[index]
    let answer = try device.put(document.id, content, ifMatch: "\"\(document.version)\"")
    guard answer.status == 200, let version = try answer.json["version"].integer else {
      throw UnexpectedAnswer(answer)
    }
    state.documents[index].version = version
    state.documents[index].contents[version] = content
  }

  /// Expects that the other installation has an acknowledged version of each document, within these bounds.
  func check(
    through other: TestDevice, from earliest: [Identifier: Int64], to latest: [Identifier: Int64]
  ) throws {
    var usage: Int64 = 1000
    for document in state.withLock({ $0.documents }) {
      let record = try other.get("/v1/files/\(document.id)").json["content"]
      let version = try #require(record["version"].integer)
      let range = (earliest[document.id] ?? 0)...(latest[document.id] ?? .max)
      #expect(range.contains(version), "\(version) is not among \(range)")
      let content = try #require(document.contents[version])
      if version > 0 {
        let answer = try other.get("/v1/files/\(document.id)/content")
        #expect(answer.status == 200)
        #expect(answer.holds(content), "\(document.id) reads back otherwise")
      }
      usage += 1000 + Int64(content.count)
    }
    #expect(try other.get("/v1/account").json["usage"].integer == usage)
  }
}
