import Accounts
import Archive
import Base
import JSON
import Storage

/// Writes a file tree to an archive: pages of records, then small contents. Large contents follow later.
package enum TreeExport {
  /// The folder of the pages of records.
  package static let files = "files/"
  /// The folder of the documents' contents, by their ids.
  package static let contents = "contents/"

  static func write(
    _ account: Identifier, from reader: Reader, to archive: ArchiveWriter,
    progress: (Int64) -> Void
  ) throws -> ProtocolExport {
    var (recordCount, documentCount) = (0, 0)
    var objects: [ProtocolExport.Object] = []
    var (last, number) = (Int64(-1), 0)
    while true {
      let page = try MovedFile.page(reader, of: account, after: last)
      guard let end = page.last else { break }
      (last, number) = (end.sequence, number + 1)
      recordCount += page.count
      try archive.add(
        ArchiveWriter.numbered(files, number),
        JSONValue.object([.init("files", .array(page.map(\.json)))]).encoded())
      let documents = page.filter { $0.contentByteCount != nil }
      documentCount += documents.count
      for file in documents {
        if let object = file.objectID, let byteCount = file.contentByteCount {
          objects.append(
            ProtocolExport.Object(file: "\(contents)\(file.id)", key: object, byteCount: byteCount))
        }
      }
      let small = documents.filter { $0.objectID == nil }.map(\.id)
      try MovedContent.inline(of: small, reader) { file, bytes in
        try archive.add("\(contents)\(file)", bytes)
        progress(Int64(bytes.count))
      }
    }
    return ProtocolExport(
      counts: [("records", Int64(recordCount)), ("documents", Int64(documentCount))],
      objects: objects)
  }
}
