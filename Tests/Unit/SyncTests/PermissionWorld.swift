import Accounts
import Base
import Crypto
import Sync
import TestDevices
import TestEngines
import Tiers

/// One owner's tree and five accounts with different access to it.
///
/// The files are created again as often as needed. Attempts are made with full knowledge, so that a rule
/// refuses them and not ignorance: a stranger knows every id, name and key.
final class PermissionWorld {
  /// An account's relation to the shared folder. The invited account may write once it accepts, and is also
  /// invited to the document inside.
  enum Role: String, CaseIterable {
    case owner, writer, reader, invited, stranger
  }

  let server: TestServer
  private let devices: [Role: TestDevice]
  /// An account that nothing is shared with.
  let newcomer: TestDevice

  /// Shared, in the owner's root.
  private(set) var folder = Identifier(high: 0, low: 0)
  private(set) var document = Identifier(high: 0, low: 0)
  private(set) var innerFolder = Identifier(high: 0, low: 0)
  private(set) var innerDocument = Identifier(high: 0, low: 0)
  /// In the owner's root, and not shared with anyone.
  private(set) var privateFolder = Identifier(high: 0, low: 0)
  private(set) var privateDocument = Identifier(high: 0, low: 0)
  /// A version of the document, if its content was replaced.
  var formerVersion: Int64 = 0
  /// The writer's and the reader's link to the shared folder.
  private(set) var links: [Role: Identifier] = [:]
  private var statements: [Identifier: FileStatement] = [:]

  init(_ engine: TestEngine) throws {
    var limits = SyncLimits()
    limits.openInvitationCountMax = 1_000_000
    limits.invitationsPerDay = 1_000_000
    limits.receivedInvitationCountMax = 1_000_000
    let server = try TestServer(
      engine, freeByteCount: 100_000_000, freeLimits: .init(historyDays: 30, trashDays: 30),
      limits: limits)
    self.server = server
    devices = try Dictionary(
      uniqueKeysWithValues: Role.allCases.map { ($0, try server.register()) })
    newcomer = try server.register()
    try renew()
  }

  subscript(_ role: Role) -> TestDevice {
    guard let device = devices[role] else { preconditionFailure("every role has a device") }
    return device
  }

  func account(_ role: Role) throws -> Identifier { try self[role].account }

  /// Creates all files and shares again.
  func renew() throws {
    let owner = self[.owner]
    statements = [:]
    func file(_ type: String = "document", in parent: Identifier) throws -> FileChange {
      let change = try owner.creation(type, parent: parent)
      statements[change.file.id] = change.file
      return change
    }
    let top = [try file("folder", in: owner.root), try file("folder", in: owner.root)]
    (folder, privateFolder) = (top[0].file.id, top[1].file.id)
    let inside = [
      try file(in: folder), try file("folder", in: folder), try file(in: privateFolder),
    ]
    (document, innerFolder, privateDocument) = (
      inside[0].file.id, inside[1].file.id, inside[2].file.id
    )
    let innermost = try file(in: innerFolder)
    innerDocument = innermost.file.id
    let shares = [
      (folder, Role.writer, "write"), (folder, .reader, "read"), (folder, .invited, "write"),
      (document, .invited, "write"),
    ]
    try succeed(
      owner.batch(
        files: top + inside + [innermost],
        shares: shares.map { file, role, mode in
          try grant(file, to: role, mode: mode, expect: "new")
        }))
    for role in [Role.writer, .reader] {
      let link = try self[role].creation("link", target: folder)
      try succeed(self[role].batch(files: [link]))
      statements[link.file.id] = link.file
      links[role] = link.file.id
    }
  }

  func succeed(_ answer: Answer) throws {
    guard answer.status < 300 else { throw UnexpectedAnswer(answer) }
  }

  // MARK: Changes

  /// A change of a file that was created here, by someone who knows it.
  func change(_ id: Identifier, _ body: (inout FileStatement) throws -> Void) throws -> FileChange {
    guard var statement = statements[id] else { throw MissingFile(id: id) }
    let expectation = FileChange.Expectation.at(
      parent: statement.parent, hmac: statement.name.hmac)
    try body(&statement)
    return FileChange(expect: expectation, statement)
  }

  func grant(
    _ file: Identifier, to role: Role, mode: String = "read", expect: String
  ) throws -> ShareChange {
    try grant(file, to: account(role), mode: mode, expect: expect)
  }

  func grant(
    _ file: Identifier, to account: Identifier, mode: String = "read", expect: String
  ) throws -> ShareChange {
    ShareChange.grant(file, to: account, mode: mode, key: Random.bytes(48), expect: expect)
  }

  func end(
    _ file: Identifier, of role: Role, _ state: ShareStatement.State, expect: String
  ) throws -> ShareChange {
    ShareChange(
      expect: expect, ShareStatement(file: file, account: try account(role), state: state))
  }

  struct MissingFile: Error {
    let id: Identifier
  }
}
