import Base

/// A place where messages of other programs arrive. For one thread.
protocol NewsReceiver: AnyObject {
  /// The messages that have arrived; waits for some, at most for `span`. Throws if messages may be missed from now on.
  func receive(within span: Instant.Span) throws -> [String]
}

/// Receives the news of all programs on the database, those of this program included.
///
/// It ends with `stop`, which must be called before the database is closed.
package final class NewsListener: Sendable {
  package enum Heard: Sendable {
    case news([News])
    case anything
  }

  private static let patience = Instant.Span.milliseconds(250)
  private static let pause = Instant.Span.seconds(1)

  private let isStopping = Locked(false)
  private let thread = Locked<Thread?>(nil)

  /// `hear` is called on the listener's thread, and must be short.
  init(
    _ open: @escaping @Sendable () throws -> any NewsReceiver,
    _ hear: @escaping @Sendable (Heard) -> Void
  ) {
    let running = Thread { [isStopping] in
      while !isStopping.withLock({ $0 }) {
        do {
          let receiver = try open()
          hear(.anything)
          while !isStopping.withLock({ $0 }) {
            for message in try receiver.receive(within: Self.patience) {
              hear(News.read(message).map { .news($0) } ?? .anything)
            }
          }
        } catch {
          Log.warning("storage.deaf", ["reason": String(reflecting: error)])
          StorageMetrics.newsInterruptions.add()
          _ = isStopping.wait(until: .now() + Self.pause) { $0 ? true : nil }
        }
      }
    }
    thread.withLock { $0 = running }
  }

  package func stop() {
    isStopping.signal { $0 = true }
    thread.withLock { $0.take() }?.join()
  }
}
