package import Base
import Crypto
package import HTTPMessages
import Objects

/// Files of the operator's that anyone may fetch. They are opened and read once, when the program starts, so no
/// request leads to any other file, and replaced files need a restart.
package struct PublicFiles: Sendable {
  private struct Entry: Sendable {
    let file: OpenFile
    let tag: EntityTag
    let type: String
  }

  private var entries: [String: Entry] = [:]

  private static let entryCountMax = 2000
  private static let byteCountMax: Int64 = 512 << 20

  /// Takes the files below a directory, which must have those of `names`.
  package init(
    directory path: String, requiring names: [String]
  ) throws(OpenFolder.Refusal) {
    let folder = try OpenFolder(
      path, entryCountMax: Self.entryCountMax, byteCountMax: Self.byteCountMax)
    for name in names where folder.files[name] == nil {
      throw OpenFolder.Refusal("has no \(name)")
    }
    for (name, file) in folder.files {
      // Not by the date: a package of npm gives all files of all its releases the same one.
      let digest = SHA256Stream()
      let object: StoredObject = .file(file)
      do throws(ObjectStoreError) {
        try object.read { digest.update($0) }
      } catch { throw OpenFolder.Refusal("has \(name), which cannot be read") }
      guard let tag = EntityTag(Hex.encode(digest.finalize().prefix(16))) else { continue }
      entries[name] = Entry(file: file, tag: tag, type: Self.type(of: name))
    }
  }

  /// The number of files, which stay open.
  package var count: Int { entries.count }

  /// The response to a GET or HEAD of a file by its path below the directory; nil if there is none. Caches ask each
  /// time.
  package func response(
    _ name: String, to head: RequestHead, headers: [(name: String, value: String)]
  ) throws -> Response? {
    guard let entry = entries[name] else { return nil }
    let headers =
      headers + [("Cache-Control", "no-cache"), ("X-Content-Type-Options", "nosniff")]
    let body: Response.Body = .file(entry.file, range: 0..<entry.file.byteCount)
    return try Response.known(
      body, entry.tag, to: head, headers: headers + [("ETag", entry.tag.field)])
      ?? .content(
        body, tag: entry.tag, for: head, headers: headers + [("Content-Type", entry.type)])
  }

  private static func type(of name: String) -> String {
    let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
    return types[ending] ?? "application/octet-stream"
  }

  /// What a page needs, by the ending of a name. Any other file is bytes.
  private static let types = [
    "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
    "txt": "text/plain; charset=utf-8", "json": "application/json", "map": "application/json",
    "webmanifest": "application/manifest+json", "xml": "application/xml",
    "wasm": "application/wasm", "svg": "image/svg+xml", "png": "image/png",
    "ico": "image/x-icon", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
    "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf",
    "otf": "font/otf",
  ]
}
