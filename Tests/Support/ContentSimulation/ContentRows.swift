import Base
import Storage
import Sync
import Tiers

/// The rows about contents at one moment.
struct ContentRows {
  struct File {
    let isDeleted: Bool
    let trash: Identifier?
    let version: Int64
    let byteCount: Int64
    let object: Identifier?
  }

  struct Version {
    let file: Identifier
    let number: Int64
    let byteCount: Int64
    let object: Identifier?
  }

  struct Account {
    let usage: Int64
    let history: Int64
    let trash: Int64
    let kept: Int64
  }

  /// A row that names an object of an owner's: a reservation, which expires, or garbage.
  struct Named {
    let object: Identifier
    let owner: Identifier?
    let byteCount: Int64
    let at: Instant
  }

  let files: [Identifier: File]
  let versions: [Version]
  let trash: [Identifier: String]
  let marking: Set<Identifier>
  let caps: [Identifier: (byteCount: Int64, used: Int64)]
  let accounts: [Identifier: Account]
  let reservations: [Named]
  let garbage: [Named]

  init(_ database: Database) throws {
    self = try database.read { try ContentRows($0) }
  }

  private init(_ reader: Reader) throws {
    files = try Self.map(
      reader.rows(
        "SELECT id, deleted, trash_id, content_version, content_bytes, object_id FROM sync.files"
      ) { row in
        (
          try row.id(0),
          File(
            isDeleted: try row.integer(1) == 1, trash: try row.optionalID(2),
            version: try row.integer(3), byteCount: try row.integer(4),
            object: try row.optionalID(5))
        )
      })
    versions = try reader.rows(
      "SELECT file_id, version, content_bytes, object_id FROM sync.versions"
    ) { row in
      Version(
        file: try row.id(0), number: try row.integer(1), byteCount: try row.integer(2),
        object: try row.optionalID(3))
    }
    trash = try Self.map(
      reader.rows("SELECT root_id, state FROM sync.trash") { row in
        (try row.id(0), try row.text(1))
      })
    marking = try Set(
      reader.rows("SELECT deleted_with FROM sync.deletions") { row in try row.id(0) })
    caps = try Self.map(
      reader.rows("SELECT folder_id, cap_bytes, used_bytes FROM sync.folder_caps") { row in
        (try row.id(0), (byteCount: try row.integer(1), used: try row.integer(2)))
      })
    accounts = try Self.map(
      reader.rows(
        "SELECT id, usage_bytes, history_bytes, trash_bytes, kept_bytes FROM sync.accounts"
      ) { row in
        (
          try row.id(0),
          Account(
            usage: try row.integer(1), history: try row.integer(2), trash: try row.integer(3),
            kept: try row.integer(4))
        )
      })
    (reservations, garbage) = (
      try Self.named("reservations", at: "expires_ms", reader),
      try Self.named("garbage", at: "since_ms", reader)
    )
  }

  private static func map<Value>(
    _ rows: [(Identifier, Value)]
  ) throws -> [Identifier: Value] {
    Dictionary(uniqueKeysWithValues: rows)
  }

  private static func named(
    _ table: String, at column: String, _ reader: Reader
  ) throws -> [Named] {
    try reader.rows("SELECT object_id, owner_id, bytes, \(column) FROM sync.\(table)") { row in
      Named(
        object: try row.id(0), owner: try row.optionalID(1), byteCount: try row.integer(2),
        at: try row.instant(3))
    }
  }

  /// The objects that contents are in, with their sizes.
  var used: [(object: Identifier, byteCount: Int64)] {
    files.values.compactMap { file in file.object.map { ($0, file.byteCount) } }
      + versions.compactMap { version in version.object.map { ($0, version.byteCount) } }
  }

  /// What is wrong among the rows, and between them and the disk, whatever the model says.
  func faults(
    _ disk: SimulatedDisk, _ database: Database, _ catalogue: Catalogue
  ) throws -> [String] {
    var faults: [String] = []
    for (object, byteCount) in used
    where disk.objects[object].map({ Int64($0.bytes.count) }) != byteCount {
      faults.append("a row names \(object) of \(byteCount) bytes, and the store has none")
    }
    let names = used.map(\.object) + reservations.map(\.object) + garbage.map(\.object)
    if Set(names).count != names.count { faults.append("two rows name one object") }
    for (id, account) in accounts.sorted(by: { $0.key < $1.key }) {
      let kept = garbage.filter { $0.owner == id }.reduce(0) { $0 + $1.byteCount }
      if kept != account.kept {
        faults.append("\(id) keeps \(account.kept) bytes, and its garbage is \(kept)")
      }
      let finding = try Recount(
        database, catalogue: catalogue, protocols: [FileTrees.self], sliceRowCount: 50
      ).audit(id)
      if finding?.isRight != true { faults.append("a recount of \(id) differs: \(finding as Any)") }
    }
    return faults
  }
}
