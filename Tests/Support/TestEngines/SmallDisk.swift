import Glibc

/// A file system of a fixed size in memory, unmounted when the test releases it.
package final class SmallDisk: Sendable {
  package let path: String
  private let directory: ScratchDirectory

  package init(byteCount: Int) throws {
    directory = try ScratchDirectory()
    path = directory.path
    guard run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(byteCount),mode=700", "tmpfs", path])
    else { throw ScratchError(reason: "cannot mount a tmpfs") }
  }

  deinit { _ = run("/bin/umount", ["-l", path]) }

  package func resize(byteCount: Int) throws {
    guard run("/bin/mount", ["-o", "remount,size=\(byteCount)", path]) else {
      throw ScratchError(reason: "cannot resize a tmpfs")
    }
  }

  /// Fills the disk except for `byteCount`.
  package func fill(leaving byteCount: Int) throws {
    let file = unsafe open("\(path)/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw ScratchError(reason: "cannot fill a tmpfs") }
    defer { close(file) }
    let block = [UInt8](repeating: 1, count: 4096)
    while unsafe write(file, block, block.count) > 0 {}
    let end = lseek(file, 0, Int32(SEEK_END))
    guard end >= byteCount, ftruncate(file, end - byteCount) == 0 else {
      throw ScratchError(reason: "a tmpfs is too small to leave \(byteCount) bytes")
    }
  }

  /// Whether this machine allows the mount; containers often do not.
  package static let isAvailable: Bool = {
    guard geteuid() == 0 else { return false }
    do {
      _ = try SmallDisk(byteCount: 65_536)
      return true
    } catch {
      return false
    }
  }()
}

/// Runs a program to its end. Returns whether it succeeded.
private func run(_ program: String, _ arguments: [String]) -> Bool {
  var process = pid_t()
  let strings = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
  defer { for index in 0...arguments.count { unsafe free(strings[index]) } }
  guard unsafe posix_spawn(&process, program, nil, nil, strings, environ) == 0 else { return false }
  var status: Int32 = 0
  while unsafe waitpid(process, &status, 0) < 0 {
    guard errno == EINTR else { return false }
  }
  return status == 0
}
