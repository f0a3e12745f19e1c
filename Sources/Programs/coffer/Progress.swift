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
  /// Nil where nobody knows it, or not yet.
  var total: Int64?
  /// Where the work stands, for who wants to go on from there; shown behind the figures.
  var place = ""

  private let title: String
  /// What an earlier run had done: no work of this one.
  private let first: Int64
  private let unit: Unit
  private let isTerminal: Bool
  private let begin = MonotonicTime.now()
  private var next: MonotonicTime
  private var isShown = false

  private static let terminalPause = Instant.Span.milliseconds(200)
  private static let plainPause = Instant.Span.seconds(10)

  init(_ title: String, _ unit: Unit, of total: Int64? = nil, behind first: Int64 = 0) {
    self.title = title
    self.first = first
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
    let (line, placed) = (Printable.text(line), Printable.text(", at \(place)"))
    let whole = place.isEmpty ? line : line + placed
    guard isTerminal else { return write("coffer: \(whole)\n") }
    // What is wider would begin a line of its own each time.
    let width = Self.terminalWidth
    write("\r\u{1B}[K\(whole.count < width ? whole : String(line.prefix(width - 1)))")
  }

  private var line: String {
    let seconds = MonotonicTime.now().seconds(since: begin)
    let rate = seconds > 0 ? Double(done - first) / seconds : 0
    var line = "\(title): \(figure(done))"
    if let total, total > 0 { line += " of \(figure(total))" }
    if case .count(let what) = unit { line += " \(what)" }
    if let total, total > 0 { line += " (\(min(100, done * 100 / total)) %)" }
    line += ", \(figure(Int64(rate)))/s"
    if let total, rate > 0, total > done {
      line += ", \(Self.span(Int64(Double(total - done) / rate))) left"
    }
    return line
  }

  private func figure(_ count: Int64) -> String {
    switch unit {
    case .bytes: ByteCount.text(count)
    case .count: count.grouped
    }
  }

  private static var terminalWidth: Int {
    var size = winsize()
    guard unsafe ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else {
      return 80
    }
    return Int(size.ws_col)
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
