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

/// The user who owns a file; nil if there is none.
func fileOwner(_ path: String) -> UInt32? {
  var status = stat()
  return unsafe stat(path, &status) == 0 ? status.st_uid : nil
}

/// Gives a file or folder to a user. Returns false if it cannot.
func give(_ path: String, to user: UInt32) -> Bool { unsafe chown(path, user, user) == 0 }

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
    let descriptor = makeSocket()
    defer { close(descriptor) }
    return unsafe withSocketAddress(path) { unsafe bind(descriptor, $0, $1) } == 0
  }
}

/// A program that listens and is busy: its socket takes no message until it has read those before.
final class BusySocket {
  private let descriptor = makeSocket()
  private let path: String

  /// Nil if the path is too long for an address.
  init?(at path: String) {
    self.path = path
    guard unsafe withSocketAddress(path, { [descriptor] in unsafe bind(descriptor, $0, $1) }) == 0
    else { return nil }
    // What a socket has sent and nobody has read is bounded, too, so there are several.
    while Self.fill(path) {}
  }

  /// False if the socket takes nothing.
  private static func fill(_ path: String) -> Bool {
    let other = makeSocket()
    defer { close(other) }
    var count = 0
    while unsafe withSocketAddress(
      path, { address, byteCount in Int32(unsafe sendto(other, "x", 1, 0, address, byteCount)) })
      == 1
    { count += 1 }
    return count > 0
  }

  deinit {
    close(descriptor)
    unsafe unlink(path)
  }

  /// Reads the next message that is not one of its own; nil after ten seconds.
  func read() -> String? {
    var bytes = [UInt8](repeating: 0, count: 8192)
    for _ in 0..<1000 {
      let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
      if count < 0 {
        usleep(10_000)
      } else if count != 1 || bytes[0] != UInt8(ascii: "x") {
        return String(decoding: bytes[..<count], as: UTF8.self)
      }
    }
    return nil
  }
}

private func makeSocket() -> Int32 {
  socket(
    AF_UNIX,
    Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
}

/// Calls `body` with the address of a socket's name; -1 if the path is too long for one.
private func withSocketAddress(
  _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let bytes = Array(path.utf8)
  guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
  return unsafe withUnsafePointer(to: &address) { pointer in
    unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
      unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}

func fileExists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }
