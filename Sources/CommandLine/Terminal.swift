package import Base
import Configuration
import Glibc

/// The person at the terminal of this command, who is shown more than a file and can be asked.
package enum Terminal {
  /// Whether a person reads the output.
  package static let isOutput = isatty(STDOUT_FILENO) == 1

  /// Off if NO_COLOR is set and not empty (https://no-color.org), or if the terminal has no colours.
  private static let hasColour: Bool = {
    let environment = Launch.environment()
    return isOutput && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
  }()

  /// The most columns of a line of the answer; unlimited without a terminal.
  package static let width = isOutput ? width(of: STDOUT_FILENO) : .max

  /// The columns of the terminal behind a descriptor; 80 if it does not report them.
  package static func width(of descriptor: Int32) -> Int {
    var size = winsize()
    guard unsafe ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1 else { return 80 }
    return Int(size.ws_col)
  }

  /// What a line of a table means to a reader who skims it.
  package enum Tint: String {
    case title = "1"
    case bad = "31"
    case fine = "32"
    case past = "2"
  }

  package static func tinted(_ line: String, _ tint: Tint?) -> String {
    guard hasColour, let tint else { return line }
    return "\u{1B}[\(tint.rawValue)m\(line)\u{1B}[0m"
  }

  /// A moment in a table: relative to now for people, exact for everything else.
  package static func time(_ moment: Instant?, now: Instant) -> String {
    guard let moment else { return "-" }
    return isOutput ? relative(moment, now: now) : moment.description
  }

  /// `3 h ago`, `in 2 d`; beyond two months the date.
  private static func relative(_ moment: Instant, now: Instant) -> String {
    let span = max(moment, now) - min(moment, now)
    guard span < .days(60) else { return String(moment.description.prefix(10)) }
    let text = SpanText.text(span)
    return moment > now ? "in " + text : text + " ago"
  }

  /// Whether a person can be asked.
  package static var isThere: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Asks for a yes; anything else is a no.
  package static func agrees(_ question: String) -> Bool {
    print("\(question) [y/N] ", terminator: "")
    fflush(nil)
    let answer = readLine()?.lowercased()
    return answer == "y" || answer == "yes"
  }
}
