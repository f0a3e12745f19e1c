import Accounts
import Archive
import Base
import Crypto
import JSON
import Requests
import Storage

/// Writes an account's documents of versions to an archive: how far its devices go, its blobs, and pages of its versions,
/// current and replaced, in the order in which they were stored. What other accounts wrote is left out.
enum DocumentExport {
  static let list = "documents.json"
  static let folder = "documents/"
  /// The folder of the blobs, by their ids.
  static let blobs = "blobs/"

  static func write(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    let devices = try DocumentDevice.own(reader, of: account)
    let blobs = try DocumentBlob.named(reader, of: account)
    if !devices.isEmpty {
      let listed: JSONValue = [
        "devices": .array(devices.map(\.movedJSON)), "blobs": .array(blobs.map(\.movedJSON)),
      ]
      try archive.add(list, listed.encoded())
    }
    var (count, number, last) = (0, 0, Int64(0))
    while !devices.isEmpty {
      var page = VersionPage(limit: VersionPage.limitMax)
      try page.add(
        reader, where: "account_id = $1 AND writer_id IS NULL", [.id(account)], "seq", after: last)
      guard let end = page.versions.last else { break }
      (count, number, last) = (count + page.versions.count, number + 1, end.number)
      let versions: JSONValue = ["versions": .array(page.versions.map(\.movedJSON))]
      let text = versions.encoded()
      try archive.add(ArchiveWriter.numbered(folder, number), text)
      progress(Int64(text.count))
    }
    return ProtocolExport(
      counts: [("versions", Int64(count))],
      objects: devices.isEmpty
        ? []
        : blobs.map { blob in
          ProtocolExport.Object(
            file: "\(Self.blobs)\(blob.id)", key: blob.object, byteCount: blob.byteCount)
        },
      left: try foreign(reader, of: account))
  }

  private static func foreign(
    _ reader: Reader, of account: Identifier
  ) throws -> [(name: String, count: Int64, what: String)] {
    [
      (
        "versions_left",
        try reader.number(
          """
          SELECT count(*) FROM sync.document_versions
          WHERE account_id = $1 AND writer_id IS NOT NULL
          """, .id(account)), "versions of documents, which devices of other accounts wrote"
      ),
      (
        "blobs_left",
        try reader.number(
          """
          SELECT count(DISTINCT n.blob_id) FROM sync.document_blob_names AS n
          JOIN sync.document_blobs AS b ON b.id = n.blob_id
          WHERE n.account_id = $1 AND b.owner_id <> $1
          """, .id(account)), "blobs, which devices of other accounts uploaded"
      ),
    ]
  }
}

extension DocumentBlob {
  fileprivate var movedJSON: JSONValue {
    ["id": .string(id.description), "number": .integer(number), "bytes": .integer(byteCount)]
  }
}

extension DocumentDevice {
  fileprivate var movedJSON: JSONValue {
    [
      "key": .base64(author), "counter": .integer(counter), "collected": .integer(collected),
    ]
  }

  /// Reads what an archive has of a device.
  init(moved json: JSON) throws(RequestRefusal) {
    try json.requireMembers(["key", "counter", "collected"])
    let keyByteCount = Ed25519PublicKey.byteCount
    author = try json["key"].base64(byteCount: keyByteCount...keyByteCount)
    counter = try json["counter"].counter()
    guard let collected = json["collected"].integer, 0...counter ~= collected else {
      throw .bodyInvalid(path: json["collected"].path, rule: "must be at most the counter")
    }
    self.collected = collected
  }
}

extension StoredVersion {
  fileprivate var movedJSON: JSONValue {
    [
      "signed": .object(version.members), "number": .integer(number),
      "stored_ms": .integer(stored.milliseconds),
      "replaced_ms": replaced.map { .integer($0.milliseconds) } ?? .null,
    ]
  }

  /// Reads what an archive has of a version. The signature is only read.
  init(moved json: JSON) throws(RequestRefusal) {
    try json.requireMembers(["signed", "number", "stored_ms", "replaced_ms"])
    let (number, replaced) = (json["number"], json["replaced_ms"])
    guard let seq = number.integer, seq > 0 else {
      throw .bodyInvalid(path: number.path, rule: "must be a number of the account")
    }
    self.init(
      version: try DocumentVersion(json["signed"]), number: seq,
      stored: try json["stored_ms"].moment(),
      replaced: replaced.isNull ? nil : try replaced.moment())
  }
}

extension JSON {
  fileprivate func moment() throws(RequestRefusal) -> Instant {
    guard let integer, integer >= 0 else {
      throw .bodyInvalid(path: path, rule: "must be milliseconds since 1970")
    }
    return Instant(milliseconds: integer)
  }
}
