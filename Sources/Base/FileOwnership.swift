import Glibc

/// The ownership of files that this process creates.
///
/// Commands are sometimes run as root next to servers of another user, to whom root's files would be closed.
package enum FileOwnership {
  /// Creates a directory for its owner only. False if that fails, as `errno` says, also if it exists already.
  package static func makeDirectory(_ path: String) -> Bool {
    guard unsafe mkdir(path, 0o700) == 0 else { return false }
    guard geteuid() == 0 else { return true }
    let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { return false }
    defer { close(directory) }
    return handOver(directory, at: path)
  }

  /// Gives a file that was opened for creation to the owner of its directory. False if that fails, as `errno` says.
  ///
  /// Only root's files without a second name are handed over: any other file may be the system's.
  package static func handOver(_ file: Int32, at path: String) -> Bool {
    guard geteuid() == 0 else { return true }
    var (own, place) = (stat(), stat())
    guard unsafe fstat(file, &own) == 0, unsafe stat(parent(of: path), &place) == 0 else {
      return false
    }
    let isDirectory = own.st_mode & S_IFMT == S_IFDIR
    let isOurs = own.st_mode & S_IFMT == S_IFREG && own.st_nlink == 1
    guard own.st_uid == 0, place.st_uid != 0, isDirectory || isOurs else { return true }
    return fchown(file, place.st_uid, place.st_gid) == 0
  }

  static func parent(of path: String) -> String {
    var rest = Substring(path)
    while rest.count > 1, rest.hasSuffix("/") { rest.removeLast() }
    guard let slash = rest.lastIndex(of: "/") else { return "." }
    return slash == rest.startIndex ? "/" : String(rest[..<slash])
  }
}
