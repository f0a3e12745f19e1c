import Base
import Crypto
import Storage
import TestDevices

/// A file that is written to the database without the API, because that would need thousands of requests.
struct PlantedFile {
  let id: Identifier
  let parent: Identifier
  var kind = "folder"
  var target: Identifier?
  var height: Int64 = 0

  static func document(in parent: Identifier) -> PlantedFile {
    PlantedFile(id: Random.identifier(), parent: parent, kind: "document")
  }

  /// `count` folders one within the other, the outermost first. There is room for one level below.
  static func chain(_ count: Int, in parent: Identifier) -> [PlantedFile] {
    var chain: [PlantedFile] = []
    for level in 0..<count {
      chain.append(
        PlantedFile(
          id: Random.identifier(), parent: chain.last?.id ?? parent,
          height: Int64(count - level)))
    }
    return chain
  }
}

extension TestServer {
  /// Writes files into the tree of the device's account; parents come first.
  func plant(_ files: [PlantedFile], of device: TestDevice) throws {
    let account = try device.account
    let author = device.key.publicKey.bytes
    try database.write(for: account) { transaction in
      let before =
        try transaction.first("SELECT seq FROM sync.accounts WHERE id = $1", .id(account)) {
          try $0.integer(0)
        } ?? 0
      for (index, file) in files.enumerated() {
        let hmac = SQLValue.blob(file.id.bytes + file.id.bytes)
        try transaction.execute(
          """
          INSERT INTO sync.files
            (id, owner_id, parent_id, kind, target_id, name, name_hmac, file_key, author_key,
             signature, height, seq, content_version, content_bytes, deleted)
          VALUES ($1, $2, $3, $4, $5, $6, $6, $6, $7, $6, $8, $9, 0, 0, 0)
          """,
          .id(file.id), .id(account), .id(file.parent), .text(file.kind), .id(file.target), hmac,
          .blob(author), .integer(file.height), .integer(before + Int64(index) + 1))
      }
      let count = SQLValue.integer(Int64(files.count))
      try transaction.execute(
        """
        UPDATE sync.accounts SET seq = seq + $2, usage_bytes = usage_bytes + $2 * 1000,
          record_count = record_count + $2 WHERE id = $1
        """, .id(account), count)
    }
  }

  /// Adds `count` accounts, each with a share of the file in this state.
  func plantShares(
    of file: Identifier, count: Int, state: String = "revoked"
  ) throws {
    try database.write(for: nil) { transaction in
      for _ in 0..<count {
        let account = Random.identifier()
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 1, 0, 0)
          """, .id(account))
        try transaction.execute(
          """
          INSERT INTO sync.shares (file_id, account_id, owner_id, mode, state, share_key, author_key,
            signature, seq, changed_ms)
          SELECT id, $2, owner_id, 'read', $3, id, id, id, 1, 0 FROM sync.files WHERE id = $1
          """, .id(file), .id(account), .text(state))
      }
    }
  }
}
