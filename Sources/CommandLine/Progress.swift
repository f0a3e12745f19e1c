import Base
import Glibc

/// The progress of long work, on stderr. On a terminal it is one line that is overwritten,
/// elsewhere a plain line now and then. Work that is over at once shows nothing.
///
/// One thread uses it. Code that counts itself may set `done`.
package final class Progress {
  package enum Unit {
    case bytes
    /// What is counted, in the plural: `accounts`.
    case count(of: String)
  }

  /// How much of `total` is done.
  package var done: Int64 = 0 { didSet { tellIfDue() } }
  /// Nil if it is not known, or not yet.
  package var total: Int64?
  /// The current place of the work, for an operator who wants to continue from there. It is shown
  /// after the figures.
  package var place = ""

  private let title: String
  /// What an earlier run had done, which is not counted as work of this one.
  private let first: Int64
  private let unit: Unit
  private let isTerminal: Bool
  private let begin = MonotonicTime.now()
  private var next: MonotonicTime
  private var isShown = false

  private static let terminalPause = Instant.Span.milliseconds(200)
  private static let plainPause = Instant.Span.seconds(10)

  package init(_ title: String, _ unit: Unit, of total: Int64? = nil, behind first: Int64 = 0) {
    self.title = title
    self.first = first
    self.unit = unit
    self.total = total
    isTerminal = isatty(STDERR_FILENO) == 1
    next = .now() + (isTerminal ? Self.terminalPause : Self.plainPause)
  }

  // The answer, or an error, begins on a line of its own.
  deinit { makeRoom() }

  private func tellIfDue() {
    guard next <= .now() else { return }
    next = .now() + (isTerminal ? Self.terminalPause : Self.plainPause)
    isShown = true
    guard isTerminal else { return write("coffer: \(line(width: .max))\n") }
    // A wider line would begin a new line each time.
    write("\r\u{1B}[K\(line(width: Terminal.width(of: STDERR_FILENO) - 1))")
  }

  /// Clears a terminal's line for other text that is printed next.
  package func makeRoom() {
    if isTerminal, isShown { write("\r\u{1B}[K") }
  }

  /// A line that is too long loses its last figures first, because no one can continue without the place.
  private func line(width: Int) -> String {
    var figures = figures.map { Printable.text($0) }
    let place = place.isEmpty ? "" : Printable.text("at \(place)")
    func line() -> String {
      let figures = figures.joined()
      return figures.isEmpty || place.isEmpty ? figures + place : "\(figures), \(place)"
    }
    while line().count > width, figures.count > (place.isEmpty ? 1 : 0) { figures.removeLast() }
    return String(line().prefix(width))
  }

  private var figures: [String] {
    let seconds = MonotonicTime.now().seconds(since: begin)
    let rate = seconds > 0 ? Double(done - first) / seconds : 0
    var first = "\(title): \(figure(done))"
    if let total, total > 0 { first += " of \(figure(total))" }
    if case .count(let what) = unit { first += " \(what)" }
    var figures = [first]
    if let total, total > 0 { figures.append(" (\(min(100, done * 100 / total)) %)") }
    figures.append(", \(figure(Int64(rate)))/s")
    if let total, rate > 0, total > done {
      figures.append(", \(Self.span(Int64(Double(total - done) / rate))) left")
    }
    return figures
  }

  private func figure(_ count: Int64) -> String {
    switch unit {
    case .bytes: ByteCount.text(count)
    case .count: count.grouped
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

/// The progress of work in stages, with a line for each stage.
package final class StagedProgress {
  private var stage = ""
  private var progress: Progress?

  package init() {}

  package func set(_ stage: String, _ done: Int64, of total: Int64) {
    if stage != self.stage {
      self.stage = stage
      progress = nil
      progress = Progress(stage, .bytes, of: total > 0 ? total : nil)
    }
    progress?.done = done
  }
}
