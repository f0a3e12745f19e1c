import Base
import Glibc

/// Prints the progress of a long measurement to stderr.
struct Progress {
  private let subject: String
  private let start = MonotonicTime.now()

  init(_ subject: String) { self.subject = subject }

  func note(_ text: String) {
    let seconds = Int(MonotonicTime.now().seconds(since: start))
    let line = Array("\(subject), \(seconds) s: \(text)\n".utf8)
    _ = unsafe write(STDERR_FILENO, line, line.count)
  }
}
