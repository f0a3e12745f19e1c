internal import Base
internal import Glibc

/// How far long work has come, on stderr: on a terminal one line that is written over and over, a plain
/// line now and then elsewhere, and nothing of what is over at once.
///
/// One thread uses it. `done` may be set by whoever counts for itself.
final class Progress {
  enum Unit {
    case bytes
    /// What is counted, in the plural: `accounts`.
    case count(of: String)
  }

  /// So much is done of `total`.
  var done: Int64 = 0 { didSet { tellIfDue() } }
  /// Where the work stands, for who wants to go on from there; shown behind the figures.
  var place = ""

  private let title: String
  private let unit: Unit
  private let total: Int64?
  private let isTerminal: Bool
  private let begin = MonotonicTime.now()
  private var next: MonotonicTime
  private var isShown = false

  private static let terminalPause = Instant.Span.milliseconds(200)
  private static let plainPause = Instant.Span.seconds(10)

  /// `total` is nil where nobody knows it yet.
  init(_ title: String, _ unit: Unit, of total: Int64? = nil) {
    self.title = title
    self.unit = unit
    self.total = total
    isTerminal = isatty(STDERR_FILENO) == 1
    next = .now() + (isTerminal ? Self.terminalPause : Self.plainPause)
  }

  deinit {
    // The answer, or an error, begins on a line of its own.
    if isTerminal, isShown { write("\r\u{1B}[K") }
  }

  private func tellIfDue() {
    guard next <= .now() else { return }
    next = .now() + (isTerminal ? Self.terminalPause : Self.plainPause)
    isShown = true
    write(isTerminal ? "\r\u{1B}[K\(line)" : "coffer: \(line)\n")
  }

  private var line: String {
    let seconds = MonotonicTime.now().seconds(since: begin)
    let rate = seconds > 0 ? Double(done) / seconds : 0
    var line = "\(title): \(amount(done))"
    if let total, total > 0 {
      line += " of \(amount(total)) (\(min(100, done * 100 / total)) %)"
    }
    line += ", \(amount(Int64(rate)))/s"
    if let total, rate > 0, total > done {
      line += ", \(Self.span(Int64(Double(total - done) / rate))) left"
    }
    return Printable.text(place.isEmpty ? line : line + ", at \(place)")
  }

  private func amount(_ count: Int64) -> String {
    switch unit {
    case .bytes: ByteCount.text(count)
    case .count(let what): "\(count) \(what)"
    }
  }

  private static func span(_ seconds: Int64) -> String {
    switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    default: "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}
