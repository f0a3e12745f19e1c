import Base
import Glibc
import TestFiles

/// The time of one installation: the machine's, or one that moves only when set.
final class TestClock: Sendable {
  private let file: String
  private let moment: Locked<Instant?>

  init(startingAt start: Instant?, file: String) throws {
    self.file = file
    moment = Locked(nil)
    if let start { try set(start) }
  }

  func now() -> Instant { moment.withLock { $0 } ?? Clock.system.now() }

  /// Moves the time of every program of the installation at once: the file is replaced, not rewritten.
  func set(_ moment: Instant) throws {
    try Files.write("\(moment.milliseconds)\n", to: file)
    self.moment.withLock { $0 = moment }
  }
}
