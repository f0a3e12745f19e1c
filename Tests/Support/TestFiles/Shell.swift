internal import Glibc

/// Programs that judge ours from outside.
package enum Shell {
  /// A Python with the packages that `ops/test` installs; nil where COFFER_PYTHON names none.
  package static let python: String? = {
    guard let text = unsafe getenv("COFFER_PYTHON"), unsafe text.pointee != 0 else { return nil }
    return unsafe String(cString: text)
  }()

  /// Runs a command of the shell to its end; what it prints, and its status as `waitpid` tells it.
  package static func run(_ command: String) -> (output: String, status: Int32) {
    guard let stream = unsafe popen(command, "r") else { return ("cannot start a shell", -1) }
    var bytes: [UInt8] = []
    while true {
      let byte = unsafe fgetc(stream)
      if byte == EOF { break }
      bytes.append(UInt8(byte))
    }
    return (String(decoding: bytes, as: UTF8.self), unsafe pclose(stream))
  }
}
