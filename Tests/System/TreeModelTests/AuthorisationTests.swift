import Base
import Crypto
import TestDevices
import TestEngines
import Testing
import TreeSimulation

/// Stories that end badly if access is decided by the difference of fields, because a field that is not
/// compared is not protected.
@Suite struct AuthorisationTests {
  struct Attempt: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let mode: String
    let rule: String
    let change: @Sendable (Shared) throws -> (files: [FileChange], shares: [ShareChange])

    static func file(
      _ name: String, _ mode: String, _ rule: String,
      _ body: @escaping @Sendable (inout FileStatement, Shared) -> Void
    ) -> Attempt {
      Attempt(testDescription: "\(mode): \(name)", mode: mode, rule: rule) { shared in
        ([shared.record.change { body(&$0, shared) }], [])
      }
    }

    static func share(
      _ name: String, _ rule: String,
      _ body: @escaping @Sendable (Shared) throws -> ShareStatement
    ) -> Attempt {
      Attempt(testDescription: "write: \(name)", mode: "write", rule: rule) { shared in
        ([], [ShareChange(expect: "accepted", try body(shared))])
      }
    }
  }

  /// An owner's folder with two sharees, the first of whom makes the attempts.
  struct Shared: Sendable {
    let server: TreeServer
    let owner, sharee, other: TestDevice
    let folder, document: Identifier
    /// The document.
    let record: SeenRecord

    init(_ mode: String) throws {
      server = try TreeServer(.sqlite)
      owner = try server.register()
      sharee = try server.register()
      other = try server.register()
      folder = try owner.create("folder").id
      document = try owner.create(parent: folder).id
      record = try owner.record(document)
      try owner.share(folder, with: sharee, mode: mode)
      try owner.share(folder, with: other)
    }
  }

  private static let attempts: [Attempt] = [
    .file("the ciphertext of a name", "read", "not_permitted") { file, _ in
      file.name.ciphertext = [1]
    },
    .file("a file's key", "read", "not_permitted") { file, _ in file.key = [1] },
    .file("nothing at all", "read", "not_permitted") { _, _ in },
    .file("the type", "read", "type_immutable") { file, _ in file.type = "folder" },
    .file("the type", "write", "type_immutable") { file, _ in file.type = "folder" },
    .file("the type, to a link", "write", "type_immutable") { file, shared in
      (file.type, file.target) = ("link", shared.folder)
    },
    .file("the parent, to its own tree", "write", "owner_differs") { file, shared in
      file.parent = shared.sharee.root
    },
    .file("the parent, to the owner's root", "write", "parent_not_found") { file, shared in
      file.parent = shared.owner.root
    },
    Attempt(testDescription: "write: the owner", mode: "write", rule: "owner_immutable") { shared in
      let account = try shared.sharee.account
      return ([shared.record.change { $0.owner = account }], [])
    },
    Attempt(
      testDescription: "write: the shared folder's name", mode: "write", rule: "not_permitted"
    ) { shared in
      ([try shared.owner.record(shared.folder).change { $0.name = .init() }], [])
    },
    Attempt(testDescription: "write: the root", mode: "write", rule: "file_not_found") { shared in
      var change = shared.record.change { $0.id = shared.owner.root }
      change.file.parent = shared.owner.root
      return ([change], [])
    },
    Attempt(
      testDescription: "write: a ciphertext under the owner's signature", mode: "write",
      rule: "signature_invalid"
    ) { shared in
      var change = shared.record.change { $0.name.ciphertext = [1] }
      change.signature = shared.record.signature
      return ([change], [])
    },
    Attempt(
      testDescription: "write: a key under a signature without it", mode: "write",
      rule: "signature_invalid"
    ) { shared in
      var change = shared.record.change { _ in }
      change.signature = shared.sharee.key.signature(for: change.file.signedBytes)
      change.file.key = [1]
      return ([change], [])
    },
    .share("its own key", "not_owner") { shared in
      ShareStatement(
        file: shared.folder, account: try shared.sharee.account,
        state: .granted(mode: "write", key: [1]))
    },
    .share("another's key", "not_owner") { shared in
      ShareStatement(
        file: shared.folder, account: try shared.other.account,
        state: .granted(mode: "read", key: [1]))
    },
    .share("another's access, revoked", "not_owner") { shared in
      ShareStatement(file: shared.folder, account: try shared.other.account, state: .revoked)
    },
    .share("another's access, rejected", "not_permitted") { shared in
      ShareStatement(file: shared.folder, account: try shared.other.account, state: .rejected)
    },
  ]

  @Test(arguments: attempts)
  func `no field of another's record changes beyond what access allows`(attempt: Attempt) throws {
    let shared = try Shared(attempt.mode)
    let before = try [shared.folder, shared.document].map { try shared.owner.record($0) }
    let (files, shares) = try attempt.change(shared)
    let answer = try shared.sharee.batch(files: files, shares: shares)
    #expect(answer.status == 422)
    #expect(try answer.rules == [attempt.rule])
    #expect(try [shared.folder, shared.document].map { try shared.owner.record($0) } == before)
  }

  /// A record that does not repeat its access keys keeps them.
  @Test func `a change of a shared file leaves its shares as they are`() throws {
    let shared = try Shared("read")
    let before = try shared.owner.record(shared.folder).shares
    #expect(before.count == 2)
    #expect(try shared.owner.rename(shared.folder).status == 200)
    #expect(try shared.owner.record(shared.folder).shares == before)
    #expect(try shared.sharee.get("/v1/files/\(shared.document)").status == 200)
  }
}
