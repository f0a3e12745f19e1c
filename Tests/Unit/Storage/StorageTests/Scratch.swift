import Base
import Glibc
import Migrations
import TestFiles

/// A migration given as text.
func migration(_ number: Int, _ sql: String, isAdditive: Bool = false) -> Migration {
  Migration(number: number, name: "test\(number)", isAdditive: isAdditive, sql: Array(sql.utf8))
}

/// The size of a file in bytes; 0 if there is none.
func fileSize(_ path: String) -> Int {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
}

/// The number of locks on a file that the kernel lists for this process.
func ownLockCount(_ path: String) -> Int {
  var status = stat()
  guard unsafe stat(path, &status) == 0, let locks = Files.text("/proc/locks") else { return 0 }
  var count = 0
  for text in locks.split(separator: "\n") {
    let words = text.split(separator: " ")
    // "1: POSIX  ADVISORY  READ 27719 fe:00:16434094 123 123"
    guard words.count == 8, words[4] == "\(getpid())" else { continue }
    if words[5].split(separator: ":").last == "\(status.st_ino)" { count += 1 }
  }
  return count
}

/// A file locked as another program would lock it.
final class LockedFile: Sendable {
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else {
      throw Refusal(reason: "cannot lock \(path)")
    }
  }

  func release() { flock(descriptor, LOCK_UN) }

  deinit { close(descriptor) }
}

/// What a program that listened and was killed leaves behind.
enum DeadSocket {
  /// False if the path is too long for an address.
  static func make(at path: String) -> Bool {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe bind(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    } == 0
  }
}

func fileExists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
