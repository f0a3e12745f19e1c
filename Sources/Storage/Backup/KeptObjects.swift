import Base
import Glibc

/// The objects in one backup. A file's name holds the object's id and the SHA-256 of its content.
struct KeptObjects {
  private let folder: Folder

  static let name = "objects"

  struct Entry {
    let path: String
    let name: String
    let file: Manifest.File

    /// Reads the file. Returns whether it still has the content that its name states. False if it cannot be read.
    func isWhole() throws(BackupError) -> Bool {
      do throws(BackupError) {
        return try Manifest.File(reading: path) == file
      } catch {
        guard error.kind == .unreadable else { throw error }
        return false
      }
    }
  }

  init(in backup: Folder) { folder = backup.folder(Self.name) }

  func find(_ id: Identifier) throws(BackupError) -> Entry? {
    let place = Self.place(of: id, in: folder)
    let prefix = "\(id)."
    for name in try place.names() where name.hasPrefix(prefix) {
      guard let digest = Hex.decode(String(name.dropFirst(prefix.count))), digest.count == 32
      else { continue }
      var status = stat()
      guard unsafe stat(place.path(of: name), &status) == 0 else { continue }
      return Entry(
        path: place.path(of: name), name: name,
        file: Manifest.File(byteCount: Int64(status.st_size), digest: digest))
    }
    return nil
  }

  /// Takes an object over from another backup without copying it. False if that is not possible.
  func link(_ entry: Entry, as id: Identifier) throws(BackupError) -> Bool {
    try Self.made(id, in: folder).link(entry.name, from: entry.path)
  }

  func copy(_ file: Int32, as id: Identifier) throws(BackupError) -> Manifest.File {
    let place = try Self.made(id, in: folder)
    let part = "\(id).part"
    do throws(BackupError) {
      let copied = try Manifest.File.copy(file, named: "an object", to: place.path(of: part))
      try place.rename(part, to: "\(id).\(Hex.encode(copied.digest))")
      return copied
    } catch {
      try place.remove(part)
      throw error
    }
  }

  func path(of object: Manifest.Object) -> String {
    Self.place(of: object.id, in: folder).path(of: "\(object.id).\(Hex.encode(object.file.digest))")
  }

  /// The object's directory, as in the object store: `ab/cd` for an id that begins with abcd.
  static func place(of id: Identifier, in folder: Folder) -> Folder {
    let digits = Array(id.description)
    return folder.folder(String(digits[0..<2])).folder(String(digits[2..<4]))
  }

  static func made(_ id: Identifier, in folder: Folder) throws(BackupError) -> Folder {
    let place = place(of: id, in: folder)
    if place.exists { return place }
    try folder.make()
    try folder.folder(String(Array(id.description)[0..<2])).make()
    try place.make()
    return place
  }
}
