import Glibc

/// Structured lines on stderr: `2026-11-20T21:00:57.120Z info webhook.recorded type=invoice.paid`.
///
/// One `write` per line, so lines of several threads never mix. Values are quoted unless they are plain, so none can
/// forge a line. Never pass a secret. In the journal each line begins with its level (sd-daemon(3)).
package enum Log {
  package enum Level: String, Sendable {
    case info, warning, error

    fileprivate var journalMark: String {
      switch self {
      case .info: "<6>"
      case .warning: "<4>"
      case .error: "<3>"
      }
    }
  }

  package static func info(
    _ event: StaticString, _ fields: KeyValuePairs<StaticString, String> = [:]
  ) {
    write(.info, event, fields)
  }

  /// Something that an operator should look at soon.
  package static func warning(
    _ event: StaticString, _ fields: KeyValuePairs<StaticString, String> = [:]
  ) {
    write(.warning, event, fields)
  }

  /// Something that failed and that someone must repair.
  package static func error(
    _ event: StaticString, _ fields: KeyValuePairs<StaticString, String> = [:]
  ) {
    write(.error, event, fields)
  }

  private static func write(
    _ level: Level, _ event: StaticString, _ fields: KeyValuePairs<StaticString, String>
  ) {
    var line = "\(mark(level))\(Clock.system.now()) \(level.rawValue) \(event)"
    for (key, value) in fields { line += " \(key)=\(quoted(value))" }
    line += "\n"
    var bytes = Array(line.utf8)
    // A log that cannot be written must not make the request fail.
    _ = unsafe Glibc.write(STDERR_FILENO, &bytes, bytes.count)
  }

  /// The prefix of a line of that level on stderr.
  package static func mark(_ level: Level) -> String { isJournals ? level.journalMark : "" }

  private static let isJournals: Bool = {
    var status = stat()
    guard unsafe fstat(STDERR_FILENO, &status) == 0,
      let text = unsafe getenv("JOURNAL_STREAM")
    else { return false }
    // A program that another one started may have a different stderr from that one.
    return unsafe String(cString: text) == "\(status.st_dev):\(status.st_ino)"
  }()

  private static let valueByteCountMax = 1024

  static func quoted(_ value: String) -> String {
    let plain = value.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
        && byte != UInt8(ascii: "\\")
    }
    if plain, !value.isEmpty, value.utf8.count <= valueByteCountMax { return value }
    var text = "\""
    for scalar in value.unicodeScalars.prefix(valueByteCountMax) {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\u{2028}", "\u{2029}": text += "\\u" + String(scalar.value, radix: 16)
      case _ where scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value:
        text += "\\x" + Hex.encode([UInt8(scalar.value)])
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
