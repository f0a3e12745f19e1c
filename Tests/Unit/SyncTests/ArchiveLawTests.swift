import Base
import JSON
import Storage
import Sync
import TestDevices
import TestFiles
import Testing

/// Archives that no server could have written. Each breaks one rule, and is refused with the rule's name.
@Suite struct ArchiveLawTests {
  private let account: MovedAccount
  /// The records as they are in an archive.
  private let files: [JSONValue]
  private let root, folder, inner, note, other, gone: Identifier

  /// Creates Ada's folder with a folder and two documents, one of which has content, and a deleted document
  /// next to the folder.
  init() throws {
    let server = try TestServer()
    let ada = try server.register()
    let top = try ada.creation("folder")
    let made = [
      top, try ada.creation("folder", parent: top.file.id), try ada.creation(parent: top.file.id),
      try ada.creation(parent: top.file.id),
    ]
    (root, folder) = (ada.root, top.file.id)
    (inner, note, other) = (made[1].file.id, made[2].file.id, made[3].file.id)
    let (gone, _) = try ada.create()
    self.gone = gone
    for answer in [
      try ada.batch(files: made), try ada.put(note, [1, 2, 3], ifMatch: "\"0\""),
      try ada.put(gone, [1, 2], ifMatch: "\"0\""), try ada.delete(gone),
    ] where answer.status != 200 { throw UnexpectedAnswer(answer) }
    let id = try ada.account
    let (moved, records) = try server.database.read { reader in
      (
        try #require(try MovedAccount(reader, id)),
        try MovedFile.page(reader, of: id, after: -1).map(\.json)
      )
    }
    // Numbers for more records than were created.
    account = try MovedAccount(
      JSON.parse(Self.changed(moved.json, ["version": 10_000]).encoded()))
    files = records
  }

  @Test func `what a server wrote breaks no rule`() throws {
    try take(files)
  }

  @Test func `deleted folders may be within each other to any depth`() throws {
    try take(deepTree(["deleted": true, "deleted_ms": 1]), areChecked: true)
  }

  @Test func `the folder of a deleted file may be forgotten, that of a live one may not`() throws {
    let forgotten: [String: JSONValue] = ["parent": text(Identifier(high: 1, low: 1))]
    try take(with(gone, forgotten), areChecked: true)
    #expect(throws: MovingError.self) { try take(with(note, forgotten), areChecked: true) }
  }

  @Test(arguments: TreeFinding.Law.ofArchives)
  func `an archive that breaks a rule is refused by its name`(law: TreeFinding.Law) throws {
    for broken in try archives(breaking: law) {
      let error = #expect(throws: MovingError.self) {
        try take(broken, areChecked: law != .signature)
      }
      let text = error?.description ?? ""
      #expect(text.contains(" breaks the rule \(law.rawValue): \(law.text)"), "\(text)")
    }
  }

  @Test func `the manual names every rule of archives in the words of the program`() throws {
    let manual = String(
      decoding: try #require(Files.bytes(Files.repository + "/docs/export.md")), as: UTF8.self)
    for law in TreeFinding.Law.ofArchives {
      #expect(manual.contains("| `\(law.rawValue)` | \(law.text)"))
    }
  }

  /// Reads records, with contents of the sizes that they state.
  private func take(_ files: [JSONValue], areChecked: Bool = false) throws {
    var tree = MovedTree(of: account)
    for value in files {
      let file = try MovedFile(
        try JSON.parse(value.encoded()), of: account.id, isChecked: areChecked)
      try tree.add(file)
      if let byteCount = file.contentByteCount {
        try tree.addContent(of: file.id, byteCount: byteCount)
      }
    }
    try tree.requireWhole()
  }

  private func archives(breaking law: TreeFinding.Law) throws -> [[JSONValue]] {
    switch law {
    case .root:
      [
        files.filter { member("id", of: $0) != text(root) },
        with(folder, ["parent": text(folder), "name": .null, "key": .null]),
        with(root, ["deleted": true, "deleted_ms": 1]),
      ]
    case .parent:
      [
        with(inner, ["parent": text(note)]),
        with(inner, ["parent": text(Identifier(high: 1, low: 1))]),
      ]
    case .cycle: [with(folder, ["parent": text(inner)])]
    case .depth: [deepTree()]
    case .height: [with(folder, ["height": 0])]
    case .name: [with(other, ["name": member("name", of: file(note))])]
    case .number:
      [
        with(note, ["version": member("version", of: file(inner))]),
        with(note, ["version": .integer(account.sequence + 1)]),
      ]
    case .mark: [with(folder, ["deleted": true, "deleted_ms": 1])]
    case .deletion:
      [
        with(note, ["deleted_with": text(folder)]), with(note, ["deleted_ms": 1]),
        with(gone, ["deleted_ms": .null]),
      ]
    case .content:
      [
        with(other, ["content": ["version": 0, "bytes": 1_000_000]]),
        with(gone, ["content": ["version": 1, "bytes": 1_000_000]]),
      ]
    case .signature:
      [
        with(note, ["height": 0, "key": "AAAA"]),
        with(note, ["author": .null, "signature": .null]),
      ]
    case .object, .link, .shareOfNothing, .shareOwner, .shareLink, .view: []
    }
  }

  /// Folders one within the other, one more than allowed if they are live.
  private func deepTree(_ members: [String: JSONValue] = [:]) -> [JSONValue] {
    var deep = with(root, ["height": 128])
    var parent = root
    for level in 1...129 {
      let id = Identifier(high: 2, low: UInt64(level))
      deep.append(
        Self.changed(
          file(inner),
          [
            "id": text(id), "parent": text(parent), "height": 128,
            "version": .integer(Int64(1000 + level)),
          ].merging(members) { $1 }))
      parent = id
    }
    return deep
  }

  private func file(_ id: Identifier) -> JSONValue {
    files.first { member("id", of: $0) == text(id) } ?? .null
  }

  /// All records, with some members of one record changed.
  private func with(_ id: Identifier, _ members: [String: JSONValue]) -> [JSONValue] {
    files.map { member("id", of: $0) == text(id) ? Self.changed($0, members) : $0 }
  }

  private static func changed(_ value: JSONValue, _ members: [String: JSONValue]) -> JSONValue {
    guard case .object(let old) = value else { return value }
    let kept = old.filter { members[$0.name] == nil }
    return .object(kept + members.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
  }

  private func member(_ name: String, of value: JSONValue) -> JSONValue {
    guard case .object(let members) = value else { return .null }
    return members.first { $0.name == name }?.value ?? .null
  }

  private func text(_ id: Identifier) -> JSONValue { .string(id.description) }
}
