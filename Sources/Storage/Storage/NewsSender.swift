import Base

/// Carries messages to the programs that listen on the same database. For one thread.
protocol NewsChannel: AnyObject {
  /// Throws if a message may not have arrived. The next call tells whom it missed that anything may have changed.
  func send(_ messages: [String]) throws
}

/// Sends the news of this program's commits: at most once in ten milliseconds, however many commits there are.
///
/// PostgreSQL takes one lock for the whole server while a transaction with a NOTIFY commits. So none is part of a
/// writing transaction: with it, 32 writers reached a tenth of their commits.
final class NewsSender: Sendable {
  private struct State {
    var waiting = News.Waiting()
    var isStopping = false
    var thread: Thread?
  }

  private static let pause = Instant.Span.milliseconds(10)
  private static let retryPause = Instant.Span.seconds(1)

  private let state = Locked(State())
  private let open: @Sendable () -> any NewsChannel

  /// `open` is called on the sender's own thread. It must not block.
  init(_ open: @escaping @Sendable () -> any NewsChannel) { self.open = open }

  /// The first call starts the thread, so a program that commits no news has none.
  func add(_ news: Set<News>) {
    guard !news.isEmpty else { return }
    let areFirst = state.withLock { state in
      let areFirst = state.waiting.isEmpty
      state.waiting.add(news)
      if state.thread == nil, !state.isStopping { state.thread = Thread { [self] in run() } }
      return areFirst
    }
    // The thread was woken for earlier news that still wait, and it takes all.
    if areFirst { state.signal { _ in } }
  }

  /// Sends what waits, and ends the thread. Call once no more news come.
  func stop() {
    let thread = state.signal { state in
      state.isStopping = true
      return state.thread.take()
    }
    thread?.join()
  }

  private func run() {
    let channel = open()
    var retries: MonotonicTime?
    while let messages = next(until: retries) {
      do {
        try channel.send(messages)
        StorageMetrics.newsSent.add(Int64(messages.count))
        retries = nil
      } catch {
        // Without news there is one more call all the same. Later news would hide what these told.
        retries = .now() + Self.retryPause
        if !messages.isEmpty {
          StorageMetrics.newsLost.add(Int64(messages.count))
          Log.warning("storage.news_lost", ["reason": String(reflecting: error)])
        }
      }
      _ = state.wait(until: .now() + Self.pause) { $0.isStopping ? true : nil }
    }
  }

  /// Waits for news, at most until `deadline`; nil once the sender is stopped and has sent them.
  private func next(until deadline: MonotonicTime?) -> [String]? {
    let messages = state.wait(until: deadline) { state -> [String]?? in
      if !state.waiting.isEmpty { return .some(state.waiting.takeMessages()) }
      return state.isStopping ? .some(nil) : nil
    }
    return messages ?? []
  }
}
