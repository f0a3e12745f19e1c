import Base
import HTTPMessages

/// The time for which a response is delayed. It ends with its deadline, or with the server.
final class Pause: Expirable {
  private let waiting = Waiting<Void> { _ in }
  private let count: Locked<Int>

  /// Nil if `countMax` pauses are already under way.
  init?(_ count: Locked<Int>, countMax: Int) {
    let isTaken = count.withLock { count in
      guard count < countMax else { return false }
      count += 1
      return true
    }
    guard isTaken else { return nil }
    self.count = count
  }

  deinit { count.withLock { $0 -= 1 } }

  func expire(_: Problem) { waiting.complete(.success(())) }

  func isOver(orSuspend connection: Connection) -> Bool {
    waiting.outcome(orSuspend: connection) != nil
  }
}
