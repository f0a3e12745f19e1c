import Base
import Crypto
import JSON
import SeededRandom
import Sync
import TestDevices
import Testing

/// A device that does anything to its tree, at random. Refusals are part of it.
struct RandomWalk {
  enum Deed {
    case createFolder, createDocument, write, delete, move
    /// Marks a few files below deleted folders, or lets hours pass and does all that is due.
    case mark, sweep
    case restoreVersion, restoreDeleted, restoreElsewhere, purge
    /// Chooses what happens when the account is full; caps a folder, or removes its cap.
    case choose, cap
  }

  let server: TestServer
  let device: TestDevice
  /// The root comes first.
  private(set) var folders: [Identifier]
  private(set) var documents: [Identifier] = []
  private var random: SeededGenerator

  /// Takes steps, and checks after each. A deed that is named twice is twice as likely.
  static func take(
    _ count: Int, on server: TestServer, _ deeds: [Deed], seed: UInt64,
    check: (RandomWalk) throws -> Void
  ) throws {
    let device = try server.register()
    var walk = RandomWalk(
      server: server, device: device, folders: [device.root],
      random: SeededGenerator(seed: seed))
    for step in 0..<count {
      let deed = deeds[Int.random(in: 0..<deeds.count, using: &walk.random)]
      do {
        try walk.take(deed)
        try check(walk)
      } catch {
        Issue.record("seed \(seed), step \(step), \(deed): \(error)")
        throw error
      }
    }
  }

  private init(
    server: TestServer, device: TestDevice, folders: [Identifier], random: SeededGenerator
  ) {
    self.server = server
    self.device = device
    self.folders = folders
    self.random = random
  }

  private mutating func take(_ deed: Deed) throws {
    switch deed {
    case .createFolder:
      let (id, answer) = try device.create("folder", parent: anyFolder())
      if try isDone(answer) { folders.append(id) }
    case .createDocument:
      let (id, answer) = try device.create(parent: anyFolder())
      if try isDone(answer) { documents.append(id) }
    case .write:
      guard let id = documents.randomElement(using: &random) else { return }
      let content = Random.bytes(Int.random(in: 0...40_000, using: &random))
      _ = try isDone(device.put(id, content, ifMatch: "*"))
    case .delete:
      guard let record = anyRecord(), !record.deleted else { return }
      _ = try isDone(device.delete(record.id))
    case .move:
      guard let record = anyRecord(), !record.deleted else { return }
      _ = try isDone(device.move(record.id, to: anyFolder()))
    case .mark: _ = try server.markDeleted(count: 2)
    case .sweep:
      server.clock.advance(.hours(Int64.random(in: 1...20, using: &random)))
      try server.sweepDeletions()
    case .restoreVersion:
      guard let id = documents.randomElement(using: &random),
        try device.get("/v1/files/\(id)/versions").status == 200,
        let version = try device.versions(id).randomElement(using: &random)
      else { return }
      _ = try isDone(device.restore(id, version.number))
    case .restoreDeleted:
      guard let record = anyRecord() else { return }
      _ = try isDone(device.restoreDeleted(record.id))
    case .restoreElsewhere:
      guard let record = anyRecord() else { return }
      let folder = anyFolder()
      _ = try isDone(
        device.restoreDeleted(record.id) {
          $0.parent = folder
          $0.name = .init()
        })
    case .purge:
      guard let record = anyRecord() else { return }
      _ = try isDone(device.purge(record.id))
    case .choose:
      _ = try isDone(device.choose(Bool.random(using: &random) ? "purge" : "keep"))
    case .cap:
      let bytes = Int64.random(in: 0...100_000, using: &random)
      _ = try isDone(
        device.capFolder(
          anyFolder(), Int.random(in: 0..<4, using: &random) == 0 ? .null : .integer(bytes)))
    }
  }

  private mutating func anyFolder() -> Identifier {
    folders[Int.random(in: 0..<folders.count, using: &random)]
  }

  /// A file besides the root that the server has not forgotten.
  private mutating func anyRecord() -> SeenRecord? {
    (folders.dropFirst() + documents).randomElement(using: &random)
      .flatMap { try? device.record($0) }
  }

  /// Throws if the server failed.
  private func isDone(_ answer: Answer) throws -> Bool {
    if answer.status == 500 || answer.status == 503 { throw UnexpectedAnswer(answer) }
    return answer.status < 300
  }
}
