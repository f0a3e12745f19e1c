import Glibc
import Goldens
import JSON
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Permissions: every role tries every change of every member against the real API.
///
/// `PermissionMatrix.md` is the result. RECORD=1 writes it, but the test fails all the same, so that a new
/// table is reviewed before it counts.
@Suite struct PermissionMatrixTests {
  private typealias Role = PermissionWorld.Role

  private static let path = Files.repository + "/Tests/Unit/SyncTests/PermissionMatrix.md"

  private static var sections: [(title: String, operations: [PermissionOperation])] {
    [
      ("Documents beneath the shared folder", PermissionOperation.ofFiles),
      ("The shared folder, the root and what is private", PermissionOperation.ofFolders),
      ("Shares", PermissionOperation.ofShares),
      ("Links", PermissionOperation.ofLinks),
      ("Versions, trash, uploads and caps", PermissionOperation.ofHistory),
      ("Sight", PermissionOperation.ofSight),
    ]
  }

  @Test(arguments: TestEngine.mainly(.sqlite))
  func `every role may do what the table says, and nothing else`(engine: TestEngine) throws {
    var text = Self.introduction
    var changers: [String: Set<Role>] = [:]
    for (title, operations) in Self.sections {
      let world = try PermissionWorld(engine)
      var rows: [[String]] = [["", "member"] + Role.allCases.map(\.rawValue)]
      for operation in operations {
        let cells = try Self.tryAll(operation, in: world)
        rows.append([operation.name, operation.field ?? ""] + cells)
        for field in PermissionField.all where field.isChanged(by: operation) {
          let allowed = zip(Role.allCases, cells).filter { $0.1 == PermissionOperation.done }
          changers[field.name, default: []].formUnion(allowed.map(\.0))
        }
      }
      text += "\n## \(title)\n\n" + Self.table(rows)
    }
    let readers = try PermissionReaders(PermissionWorld(engine))
    var rows = [["member", "who may change it", "changed above by", "read by"]]
    for field in PermissionField.all {
      let roles = Role.allCases.filter { changers[field.name]?.contains($0) == true }
      rows.append([
        field.name, field.rule,
        roles.isEmpty ? "-" : roles.map(\.rawValue).joined(separator: ", "), readers.of(field),
      ])
    }
    text += "\n## Members\n\n" + Self.table(rows)
    try expectGolden(text, file: Self.path)
  }

  @Test func `every member of a record and of a share has its row and its rule`() throws {
    let server = try TestServer()
    let document = try JSON.parse(try server.fetchDescription().body)
    let rows = PermissionField.all.map(\.name)
    let described = PermissionField.described(in: document)
    #expect(described.subtracting(rows) == [])
    #expect(Set(rows).subtracting(described) == [])
    let table = try #require(Files.text(Self.path))
    for row in rows { #expect(table.contains("\n| \(row) "), "\(row) is not in the table") }
  }

  @Test func `every member that a client states is tried`() throws {
    let server = try TestServer()
    let schemas = try JSON.parse(try server.fetchDescription().body)["components"]["schemas"]
    let tried = Set(Self.sections.flatMap(\.operations).compactMap(\.field))
    for (schema, prefix) in [("FileStatement", "file."), ("ShareGrant", "share.")] {
      for (name, _) in schemas[schema]["properties"].members ?? [] {
        let isTried = tried.contains { $0 == prefix + name || $0.hasPrefix(prefix + name + ".") }
        #expect(isTried, "nobody tries to change \(prefix + name)")
      }
    }
  }

  /// The cells of one row. After every allowed attempt the files are created again.
  private static func tryAll(
    _ operation: PermissionOperation, in world: PermissionWorld
  ) throws -> [String] {
    try world.renew()
    return try Role.allCases.reversed().map { role in
      if operation.isPrepared { try world.renew() }
      let cell = try operation.attempt(world, role)
      if cell == PermissionOperation.done { try world.renew() }
      return cell ?? ""
    }.reversed()
  }

  // MARK: The text

  private static let introduction = """
    # Who may do what

    Written by PermissionMatrixTests (RECORD=1), which tries every cell against the API. The owner
    has shared a folder: the writer and the reader have accepted, the invited one, who may write
    once it accepts, has not, and is also invited to the document in the folder. A stranger has
    nothing. Everybody knows every id, name and key. A refusal shows its status and the rule or the
    problem; "yes" is done.

    """

  /// A table with columns of equal width, so that its source is easy to read.
  private static func table(_ rows: [[String]]) -> String {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    func line(_ cells: [String]) -> String {
      let padded = zip(cells, widths).map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }
      return "| " + padded.joined(separator: " | ") + " |\n"
    }
    let rule = widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|")
    return line(rows[0]) + "|\(rule)|\n" + rows.dropFirst().map(line).joined()
  }
}
