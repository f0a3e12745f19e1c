import Base
import Crypto
import JSON
import SeededRandom
import TestDevices

/// The most expensive batches about shares that one account can send again and again.
struct WorstShares {
  private static let readerCount = 10
  private static let movedFileCount = 900
  private static let depth = 100
  private static let chainCount = 7
  private static let linkCount = 256
  private static let grantCount = 60
  private static let batchCount = 450

  private let client: TreeClient
  private let account: TreeAccount

  init(_ client: TreeClient, random: inout SeededGenerator) throws(BenchError) {
    self.client = client
    account = try TreeAccount(client, fileCount: 0, random: &random)
  }

  /// A folder of 900 files moves into and out of a folder that ten others see.
  func moves(random: inout SeededGenerator) throws(BenchError) -> WorstAttack {
    let account = account
    let (shared, moved) = (folder(), folder())
    try create([shared, moved])
    try create((0..<Self.movedFileCount).map { _ in file("document", in: moved.id) })
    for _ in 0..<Self.readerCount {
      let reader = try TreeAccount(client, fileCount: 0, random: &random)
      try client.perform(account.batch(shares: [Self.grant(shared.id, to: reader, "new")]))
      try client.perform(reader.batch(files: [FileChange(link(to: shared.id, of: reader))]))
    }
    return WorstAttack(
      id: "moves", name: "moves of 900 files into and out of ten accounts' view", bound: .lock
    ) { number in
      let places = number.isMultiple(of: 2) ? (account.root, shared.id) : (shared.id, account.root)
      var there = moved
      there.parent = places.1
      return account.batch(files: [
        FileChange(expect: .at(parent: places.0, hmac: moved.name.hmac), there)
      ])
    }
  }

  /// Sixty folders are granted and revoked, while 256 links are a hundred folders deep elsewhere.
  func grants(random: inout SeededGenerator) throws(BenchError) -> WorstAttack {
    let account = account
    let other = try TreeAccount(client, fileCount: 0, random: &random)
    let documents = (0..<Self.linkCount).map { _ in file("document", in: other.root, of: other) }
    try client.perform(other.batch(files: documents.map { FileChange($0) }))
    let chains = (0..<Self.chainCount).map { _ in chain() }
    for chain in chains { try create(chain) }
    // The first share makes them contacts, so that no limit on strangers stops the others.
    for part in [documents.prefix(1), documents.dropFirst()] {
      try client.perform(
        other.batch(shares: part.map { Self.grant($0.id, to: account, "new") }))
      try create(
        part.enumerated().map { index, document in
          var link = link(to: document.id, of: account)
          link.parent = chains[index % chains.count][Self.depth - 1].id
          return link
        })
    }
    let folders = (0..<Self.grantCount).map { _ in folder() }
    try create(folders)
    try client.perform(account.batch(shares: folders.map { Self.grant($0.id, to: other, "new") }))
    return WorstAttack(
      id: "grants", name: "grants of 60 folders beside 256 deep links", bound: .lock
    ) { number in
      account.batch(
        shares: folders.map { folder in
          number.isMultiple(of: 2)
            ? ShareChange(
              expect: "pending",
              ShareStatement(file: folder.id, account: other.id, state: .revoked))
            : Self.grant(folder.id, to: other, "revoked")
        })
    }
  }

  // MARK: Files

  private func create(_ files: [FileStatement]) throws(BenchError) {
    for start in stride(from: 0, to: files.count, by: Self.batchCount) {
      let part = files[start..<min(files.count, start + Self.batchCount)]
      try client.perform(account.batch(files: part.map { FileChange($0) }))
    }
  }

  private func folder() -> FileStatement { file("folder", in: account.root) }

  private func file(
    _ type: String, in parent: Identifier, of owner: TreeAccount? = nil
  ) -> FileStatement {
    FileStatement(owner: owner?.id ?? account.id, parent: parent, type: type)
  }

  /// Folders, each within the one before.
  private func chain() -> [FileStatement] {
    var chain: [FileStatement] = []
    for _ in 0..<Self.depth { chain.append(file("folder", in: chain.last?.id ?? account.root)) }
    return chain
  }

  private func link(to target: Identifier, of reader: TreeAccount) -> FileStatement {
    FileStatement(owner: reader.id, parent: reader.root, type: "link", target: target)
  }

  private static func grant(
    _ file: Identifier, to reader: TreeAccount, _ expect: String
  ) -> ShareChange {
    ShareChange(
      expect: expect,
      ShareStatement(
        file: file, account: reader.id, state: .granted(mode: "read", key: Random.bytes(48))))
  }
}

extension TreeAccount {
  fileprivate func batch(files: [FileChange] = [], shares: [ShareChange] = []) -> Requests {
    let body = key.batchBody(files: files, shares: shares).encoded()
    return request(
      "POST", "/v1/files", body, fields: [("Content-Type", "application/json")])
  }
}
