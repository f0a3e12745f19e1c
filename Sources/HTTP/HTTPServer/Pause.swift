internal import Base
internal import HTTPMessages

/// The time for which an answer is held back: it ends with its deadline, or with the server.
final class Pause: Expirable {
  private let waiting = Waiting<Void> { _ in }
  private let count: Locked<Int>

  /// Nil where so many are under way already.
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

  /// Where it is not over, suspends the connection.
  func isOver(orSuspend connection: Connection) -> Bool {
    waiting.outcome(orSuspend: connection) != nil
  }
}
