import Base
import Configuration
import Glibc

/// A file named on the command line, read whole; `-` is standard input.
package enum InputFile {
  package static let byteCountMax = 64 << 20

  package static func bytes(at path: String) throws(CommandFailure) -> [UInt8] {
    guard path != "-" else { return try bytes(of: STDIN_FILENO, named: path) }
    let file: OpenFile
    do throws(OpenFile.Refusal) { file = try OpenFile(named: path) } catch {
      throw CommandFailure(.refused, "\(path) \(error.text)")
    }
    let bytes = try bytes(of: file.descriptor, named: path)
    withExtendedLifetime(file) {}
    return bytes
  }

  private static func bytes(of file: Int32, named path: String) throws(CommandFailure) -> [UInt8] {
    do throws(TextFile.Failure) {
      return try TextFile.bytes(of: file, atMost: byteCountMax)
    } catch {
      throw CommandFailure(.refused, "\(path) \(error.text)")
    }
  }
}

/// A new file that only its owner may access.
package enum OutputFile {
  /// Writes a new file, which is durable on return. An existing file is never touched.
  package static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      let reason = errno == EEXIST ? "it exists and will not be overwritten" : systemErrorText()
      throw CommandFailure(.refused, "\(path) cannot be written: \(reason)")
    }
    let isDurable =
      FileOwnership.handOver(file, at: path) && writeAll(unsafe bytes.span.bytes, to: file)
      && fsync(file) == 0 && synchronizeName(of: path)
    guard close(file) == 0, isDurable else {
      remove(path)
      throw CommandFailure(.unavailable, "\(path) could not be written whole")
    }
  }

  /// Refuses early what `write` would refuse after long work.
  package static func requireNew(_ path: String) throws(CommandFailure) {
    guard !exists(path) else {
      throw CommandFailure(
        .refused, "\(path) cannot be written: it exists and will not be overwritten")
    }
  }

  package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

  /// Whether two paths name one file, even if it does not exist.
  package static func isSame(_ path: String, _ other: String) -> Bool {
    if let file = place(path), let otherFile = place(other) { return file == otherFile }
    let (directory, name) = split(path)
    let (otherDirectory, otherName) = split(other)
    return name == otherName && place(directory) == place(otherDirectory)
  }

  /// The identity of a file, whatever path leads to it; nil if there is none.
  private static func place(_ path: String) -> [UInt64]? {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    return [UInt64(status.st_dev), UInt64(status.st_ino)]
  }

  private static func split(_ path: String) -> (directory: String, name: Substring) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path[...]) }
    return (String(path[...slash]), path[path.index(after: slash)...])
  }

  /// Writes a file in place of an existing one, which stays until the new one is complete.
  package static func replace(_ path: String, with bytes: [UInt8]) throws(CommandFailure) {
    let new = path + ".new"
    remove(new)
    try write(bytes, to: new)
    guard unsafe rename(new, path) == 0 else {
      let reason = systemErrorText()
      remove(new)
      throw CommandFailure(.refused, "\(path) cannot be written: \(reason)")
    }
  }
}

extension OutputFile {
  /// Removes a file that this command wrote; what cannot be removed stays.
  package static func remove(_ path: String) { _ = unsafe unlink(path) }
}

/// Writes a command's answer.
package enum StandardOutput {
  /// Writes results that come before the answer. Returns false if nobody reads them any more.
  @discardableResult
  package static func writeOn(_ text: String) throws(CommandFailure) -> Bool {
    if print(text) { return true }
    guard errno == EPIPE else { throw cut() }
    return false
  }

  /// Writes the whole answer, the last text that goes there. An answer that is cut is a failure.
  ///
  /// A reader that stops early, as `head` does, has what it wanted.
  package static func write(_ text: String) throws(CommandFailure) {
    fflush(nil)
    guard !text.isEmpty else { return }
    let isWritten = print(text) && close(STDOUT_FILENO) == 0
    guard isWritten || errno == EPIPE else { throw cut() }
  }

  private static func print(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return writeAll(unsafe bytes.span.bytes, to: STDOUT_FILENO)
  }

  private static func cut() -> CommandFailure {
    CommandFailure(.unavailable, "the answer could not be written: \(systemErrorText())")
  }
}

/// The three files that every program starts with.
package enum StandardFiles {
  /// Opens those that the caller closed, before a database's file or socket gets their numbers.
  package static func open() {
    for file in STDIN_FILENO...STDERR_FILENO where fcntl(file, F_GETFD) < 0 {
      _ = unsafe Glibc.open("/dev/null", O_RDONLY)
    }
  }
}

/// Messages to people, besides a command's answer.
package enum StandardError {
  package static func write(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}

/// The system's message about the last failed call.
private func systemErrorText() -> String {
  guard let text = unsafe strerror(errno) else { return "error \(errno)" }
  return unsafe String(cString: text)
}
