import Glibc

/// Other programs that check Coffer's.
package enum Shell {
  /// A Python with the packages that `ops/test` installs; nil if COFFER_PYTHON is not set.
  package static let python: String? = {
    guard let text = unsafe getenv("COFFER_PYTHON"), unsafe text.pointee != 0 else { return nil }
    return unsafe String(cString: text)
  }()

  /// Runs a shell command to its end. Returns its output, and its status in the form of `waitpid`.
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
