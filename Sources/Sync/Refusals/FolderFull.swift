import Base
import HTTPMessages
import JSON

/// A write that would leave a folder above its cap and fuller than before.
package struct FolderFull: Equatable, Sendable {
  let folder: Identifier
  let capByteCount: Int64
  /// Nil until it is known.
  let usedByteCount: Int64?
  let owner: Identifier
  /// The growth that was asked for.
  let delta: Int64
  /// Whether the caller sees the folder, and so may know what it holds.
  let isSeen: Bool

  var problem: Problem {
    guard isSeen, let used = usedByteCount else {
      return Problem(
        507, "folder_full", "Folder full",
        "A folder above has no room for this write. Its owner sets how much it may hold.",
        members: [.init("owner", .string(owner.description))])
    }
    let needed = used.addingClamped(delta)
    return Problem(
      507, "folder_full", "Folder full",
      "This write needs \(needed) bytes in the folder, which may hold \(capByteCount). Its owner "
        + "sets how much.",
      members: [
        .init("owner", .string(owner.description)),
        .init("folder", .string(folder.description)), .init("used", .integer(used)),
        .init("cap", .integer(capByteCount)), .init("needed", .integer(needed)),
      ])
  }
}
