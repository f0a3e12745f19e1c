import Base
import Crypto
import Glibc

/// The sockets by which programs on one SQLite directory tell each other news: one for each program that listens.
///
/// They are datagrams of this machine. A program that ends leaves its socket's name behind; the next sender removes it.
private enum NewsSockets {
  static func folder(_ files: SQLiteFiles) -> String { "\(files.directory)/news" }

  static func make() -> Int32 {
    socket(
      AF_UNIX,
      Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        | Int32(SOCK_NONBLOCK.rawValue), 0)
  }

  /// Calls `body` with the address of a socket's name in an open directory. The name is given by the directory's
  /// descriptor, because the whole path may be longer than the 107 bytes that an address holds.
  static func withAddress(
    of name: String, in directory: Int32,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int
  ) -> Int {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array("/proc/self/fd/\(directory)/\(name)".utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
      unsafe place.copyBytes(from: path.prefix(place.count - 1))
    }
    return unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  static func open(_ folder: String) -> Int32 {
    unsafe Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  }
}

final class SQLiteNewsChannel: NewsChannel {
  private let folder: String
  /// The sockets that missed a message; nil: all of them.
  private var missed: Set<String>? = []

  init(_ files: SQLiteFiles) { folder = NewsSockets.folder(files) }

  func send(_ messages: [String]) throws {
    let missedBefore = missed
    missed = nil
    let directory = NewsSockets.open(folder)
    guard directory >= 0 else {
      // No program has ever listened.
      if errno == ENOENT {
        missed = []
        return
      }
      throw failure("open \(folder)")
    }
    defer { close(directory) }
    let socket = NewsSockets.make()
    guard socket >= 0 else { throw failure("make a socket") }
    defer { close(socket) }
    guard let names = directoryNames(folder) else { throw failure("read \(folder)") }
    var failed: DatabaseError?
    var missedNow: Set<String> = []
    for name in names where !name.hasPrefix(".") {
      let hasMissed = missedBefore?.contains(name) ?? true
      for message in (hasMissed ? [News.anything] : []) + messages {
        let code = deliver(Array(message.utf8), to: name, in: directory, by: socket)
        guard code != 0 else { continue }
        switch code {
        case ECONNREFUSED: unsafe unlinkat(directory, name, 0)
        case ENOENT: break
        default:
          failed = failure("send to \(name)", code)
          missedNow.insert(name)
        }
        break
      }
    }
    missed = missedNow
    if let failed { throw failed }
  }

  /// The kernel keeps few messages for a listener, ten by default. So one that is busy is given some time.
  private static let attemptCountMax = 20
  private static let pauseMicroseconds: UInt32 = 1000

  /// Returns the number of the error; 0 if there is none.
  private func deliver(
    _ bytes: [UInt8], to name: String, in directory: Int32, by socket: Int32
  ) -> Int32 {
    var code: Int32 = 0
    for attempt in 0..<Self.attemptCountMax {
      if attempt > 0 { usleep(Self.pauseMicroseconds) }
      let count = unsafe NewsSockets.withAddress(of: name, in: directory) { address, byteCount in
        unsafe sendto(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, byteCount)
      }
      code = count < 0 ? errno : 0
      if code != EAGAIN { break }
    }
    return code
  }
}

/// The socket of one program that listens.
final class SQLiteNewsReceiver: NewsReceiver {
  private let descriptor: Int32
  private let path: String

  init(_ files: SQLiteFiles) throws(DatabaseError) {
    let folder = NewsSockets.folder(files)
    if !FileOwnership.makeDirectory(folder), errno != EEXIST { throw failure("make \(folder)") }
    let directory = NewsSockets.open(folder)
    guard directory >= 0 else { throw failure("open \(folder)") }
    defer { close(directory) }
    let socket = NewsSockets.make()
    guard socket >= 0 else { throw failure("make a socket") }
    let name = Random.identifier().description
    let code = unsafe NewsSockets.withAddress(of: name, in: directory) { address, byteCount in
      unsafe Int(bind(socket, address, byteCount))
    }
    guard code == 0 else {
      defer { close(socket) }
      throw failure("make a socket in \(folder)")
    }
    path = "\(folder)/\(name)"
    descriptor = socket
  }

  deinit {
    close(descriptor)
    unsafe unlink(path)
  }

  func receive(within span: Instant.Span) throws -> [String] {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&entry, 1, Int32(clamping: span.milliseconds)) > 0 else { return [] }
    var messages: [String] = []
    var bytes = [UInt8](repeating: 0, count: Self.messageByteCountMax)
    while messages.count < Self.messageCountMax {
      let count = unsafe recv(descriptor, &bytes, bytes.count, 0)
      guard count >= 0 else {
        guard errno == EAGAIN || errno == EINTR else { throw failure("receive") }
        break
      }
      messages.append(String(decoding: bytes[..<count], as: UTF8.self))
    }
    return messages
  }

  private static let messageByteCountMax = 8192
  private static let messageCountMax = 64
}

private func failure(_ what: String, _ code: Int32 = errno) -> DatabaseError {
  .unavailable(reason: "cannot \(what): \(systemError(code))")
}
