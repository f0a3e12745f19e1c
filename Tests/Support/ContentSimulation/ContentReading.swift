import Base
import HTTPMessages
import JSON
import SeededRandom
import Simulation
import Sync
import TestDevices
import TreeSimulation

/// A download whose bytes are fetched in later steps.
struct HeldDownload {
  let source: any BlockSource
  let content: ContentModel.Content
  let owner: Identifier
  var position = 0
}

/// Steps that read.
extension ContentStory {
  func read() throws {
    if !downloads.isEmpty, chance(50) { return try continueDownload() }
    guard let id = anyDocument(), let node = model.nodes[id] else { return }
    let person = anyone(id)
    if chance(20), model.isLive(id), model.mayWrite(person.account, id) != nil {
      return try list(id, node, person)
    }
    // A reader who was told of a version can still read it while it is kept.
    var contents = [node.content] + (chance(50) ? node.versions.map(\.content) : [])
    if chance(30) {
      // Of small ones the server keeps the latest alone.
      contents += (model.former[id] ?? []).filter { content in
        content.byteCount > 16 * 1024
          && model.isReadable(content.tag, of: node.owner, at: server.now)
      }
    }
    guard let content = contents.randomElement(using: &random) else { return }
    let isCurrent = content == node.content
    let expected =
      model.mayWrite(person.account, id) == nil
      ? 404 : model.isLive(id) ? 200 : 410
    let query = isCurrent ? "" : "?version=\(content.number)"
    let request = person.device.sign("GET", "/v1/files/\(id)/content\(query)")
    if chance(30), content.byteCount > 16 * 1024, expected == 200 {
      return try begin(request, content, of: node.owner)
    }
    let answer = try send(request, person.device)
    guard answer.status == expected, expected != 200 || answer.holds(content.bytes) else {
      throw Mismatch(
        "content \(content.number) of \(id): \(expected) expected, got \(answer.status) with "
          + "\(answer.body.count) bytes")
    }
  }

  private func list(_ id: Identifier, _ node: ContentModel.Node, _ person: Person) throws {
    let answer = try person.device.get("/v1/files/\(id)/versions")
    let found = (try answer.json["versions"].array ?? []).map { $0["version"].integer ?? -1 }
    guard answer.status == 200, found == node.versions.reversed().map(\.content.number) else {
      throw Mismatch("\(id) lists the versions \(found)")
    }
    let trash = try person.device.get("/v1/trash")
    let roots = (try trash.json["trash"].array ?? []).compactMap { $0["file"]["id"].identifier }
    let expected = model.trash.keys.filter { model.nodes[$0]?.owner == person.account }
    guard Set(roots) == Set(expected) else { throw Mismatch("the trash lists \(roots)") }
  }

  /// Gets the head of an answer and leaves its body to later steps.
  private func begin(
    _ request: TestDevice.Signed, _ content: ContentModel.Content, of owner: Identifier
  ) throws {
    let response = try server.begin(request).finish()
    guard response.status == 200, case .blocks(let source, let range) = response.body,
      range == 0..<content.byteCount
    else { throw Mismatch("a download begins with \(response.status)") }
    downloads.append(HeldDownload(source: source, content: content, owner: owner))
  }

  private func continueDownload() throws {
    let index = number(0...downloads.count - 1)
    let download = downloads[index]
    let end = number(download.position + 1...download.content.bytes.count)
    var bytes: [UInt8]?
    let mishap = mishaps.during(10) {
      bytes = try? download.source.bytes(in: Int64(download.position)..<Int64(end))
    }
    if mishap == .cut { return try crash() }
    let isReadable = model.isReadable(download.content.tag, of: download.owner, at: server.now)
    if bytes == Array(download.content.bytes[download.position..<end]) {
      downloads[index].position = end
      if end == download.content.bytes.count { downloads.remove(at: index) }
      return
    }
    downloads.remove(at: index)
    guard bytes == nil, !isReadable || mishap != nil else {
      throw Mismatch(
        "a download of version \(download.content.number) lost its bytes from \(download.position)")
    }
  }

  /// A sweep takes nothing that a client was told of shortly before.
  func lag() throws {
    try server.sweeper.sweep()
    for (id, contents) in model.former.sorted(by: { $0.key < $1.key }) {
      guard let node = model.nodes[id], model.isLive(id),
        let owner = people.first(where: { $0.account == node.owner })
      else { continue }
      for content in contents
      where content.byteCount > 16 * 1024
        && model.isReadable(content.tag, of: node.owner, at: server.now)
      {
        let answer = try owner.device.get("/v1/files/\(id)/content?version=\(content.number)")
        guard answer.status == 200, answer.holds(content.bytes) else {
          throw Mismatch("\(content.number) of \(id) was told of, and answers \(answer.status)")
        }
      }
    }
  }

  /// Every content that there is reads back, byte for byte.
  func readEverything() throws {
    for id in model.order {
      guard let node = model.nodes[id], !node.isFolder, model.isLive(id),
        let person = people.first(where: { $0.account == node.owner })
      else { continue }
      for content in [node.content] + node.versions.map(\.content) {
        let query = content == node.content ? "" : "?version=\(content.number)"
        let answer = try person.device.get("/v1/files/\(id)/content\(query)")
        guard answer.status == 200, answer.holds(content.bytes) else {
          throw Mismatch("content \(content.number) of \(id) reads back otherwise")
        }
      }
    }
  }
}
