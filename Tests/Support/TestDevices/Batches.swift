package import Base
package import Crypto
package import JSON

/// Changes of the tree and of shares; each single one is sent as a batch of one.
extension TestDevice {
  /// Sends one batch. This device signs each change that has no signature yet.
  package func batch(files: [FileChange] = [], shares: [ShareChange] = []) throws -> Answer {
    try post("/v1/files", batchBody(files: files, shares: shares))
  }

  package func batchBody(files: [FileChange] = [], shares: [ShareChange] = []) -> JSONValue {
    key.batchBody(files: files, shares: shares)
  }

  /// A new file under the root or `parent`, in this account's tree unless `owner` is given.
  package func creation(
    _ type: String = "document", parent: Identifier? = nil, owner: Identifier? = nil,
    hmac: [UInt8] = Random.bytes(32), id: Identifier = Random.identifier(),
    target: Identifier? = nil
  ) throws -> FileChange {
    FileChange(
      FileStatement(
        id: id, owner: try owner ?? account, parent: parent ?? root, type: type,
        name: .init(hmac: hmac), target: target))
  }

  /// Creates a file under the root or `parent`.
  package func create(
    _ type: String = "document", parent: Identifier? = nil, owner: Identifier? = nil,
    hmac: [UInt8] = Random.bytes(32), id: Identifier = Random.identifier()
  ) throws -> (id: Identifier, answer: Answer) {
    let change = try creation(type, parent: parent, owner: owner, hmac: hmac, id: id)
    return (id, try batch(files: [change]))
  }

  /// A record as the server returns it.
  package func record(_ id: Identifier) throws -> SeenRecord {
    let answer = try get("/v1/files/\(id)")
    guard answer.status == 200, let record = try SeenRecord(answer.json) else {
      throw UnexpectedAnswer(answer)
    }
    return record
  }

  package func move(_ id: Identifier, to parent: Identifier) throws -> Answer {
    try batch(files: [record(id).change { $0.parent = parent }])
  }

  package func rename(
    _ id: Identifier, hmac: [UInt8] = Random.bytes(32)
  ) throws -> Answer {
    try batch(files: [record(id).change { $0.name = .init(hmac: hmac) }])
  }

  package func delete(_ id: Identifier) throws -> Answer {
    try batch(files: [record(id).change { $0.deleted = true }])
  }

  /// Invites an account to a file of this account, or changes its access.
  package func grant(
    _ file: Identifier, to account: Identifier, mode: String = "read", expect: String = "new"
  ) throws -> Answer {
    try batch(shares: [
      .grant(file, to: account, mode: mode, key: Random.bytes(48), expect: expect)
    ])
  }

  package func revoke(
    _ file: Identifier, from account: Identifier, expect: String = "accepted"
  ) throws -> Answer {
    try batch(shares: [
      ShareChange(
        expect: expect, ShareStatement(file: file, account: account, state: .revoked))
    ])
  }

  /// Rejects an invitation of this account.
  package func reject(_ file: Identifier, expect: String = "pending") throws -> Answer {
    try batch(shares: [
      ShareChange(
        expect: expect, ShareStatement(file: file, account: try account, state: .rejected))
    ])
  }

  /// Accepts an invitation by creating a link to the file.
  package func accept(
    _ file: Identifier, parent: Identifier? = nil
  ) throws -> (link: Identifier, answer: Answer) {
    let change = try creation("link", parent: parent, target: file)
    return (change.file.id, try batch(files: [change]))
  }

  /// Grants and accepts, so that both devices' accounts see the file. Returns the link.
  @discardableResult
  package func share(
    _ file: Identifier, with device: TestDevice, mode: String = "read"
  ) throws -> Identifier {
    let granted = try grant(file, to: device.account, mode: mode)
    guard granted.status == 200 else { throw UnexpectedAnswer(granted) }
    let (link, accepted) = try device.accept(file)
    guard accepted.status == 200 else { throw UnexpectedAnswer(accepted) }
    return link
  }

  /// One page of changes.
  package func updates(since cursor: String? = nil, limit: Int? = nil) throws -> Answer {
    let query =
      (cursor.map { ["since=\($0)"] } ?? []) + (limit.map { ["limit=\($0)"] } ?? [])
    let suffix = query.isEmpty ? "" : "?" + query.joined(separator: "&")
    return try get("/v1/updates" + suffix)
  }
}

/// One reason why a batch was refused: a rule that one of its changes breaks.
package struct Failure: Hashable, Sendable, CustomStringConvertible {
  package let file: String
  /// The sharee, if the change is one of a share.
  package let account: String?
  package let rule: String

  package init(file: String, account: String? = nil, rule: String) {
    self.file = file
    self.account = account
    self.rule = rule
  }

  package var description: String { "\(file)\(account.map { " \($0)" } ?? ""): \(rule)" }
}

extension Answer {
  /// The broken rules of a refused batch; empty in any other answer.
  package var failures: [Failure] {
    get throws {
      guard status >= 400 else { return [] }
      return try (json["failures"].array ?? []).map { failure in
        Failure(
          file: failure["file"].string ?? "", account: failure["account"].string,
          rule: failure["rule"].string ?? "")
      }
    }
  }

  /// The rules alone, sorted and without repetition.
  package var rules: [String] { get throws { try Set(failures.map(\.rule)).sorted() } }
}

extension Ed25519PrivateKey {
  /// The body of a batch from a device with this key.
  package func batchBody(files: [FileChange] = [], shares: [ShareChange] = []) -> JSONValue {
    var members = [JSONValue.Member("author", .string(Base64.standard.encode(publicKey.bytes)))]
    if !files.isEmpty {
      members.append(.init("files", .array(files.map { $0.json(signedBy: self) })))
    }
    if !shares.isEmpty {
      members.append(.init("shares", .array(shares.map { $0.json(signedBy: self) })))
    }
    return .object(members)
  }
}
