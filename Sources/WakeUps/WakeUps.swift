package import Accounts
import Base
package import Configuration
import Endpoints
package import HTTPServer
package import ProviderAPI
import Storage

/// Wakes the devices that sleep: a push gateway gets their push ids, no more, when their account has changed.
///
/// A registration is a row, and so is a wake-up that waits. Transactions write neither: the watcher hears their news.
package final class WakeUps: Sendable {
  private let host: ProtocolHost
  private let protocols: [any ProtocolRoom.Type]
  private let limits: WakeUpLimits
  private let watcher: Watcher
  private let sender: WakeUpSender
  private let heard = Locked(Overheard())
  private let listener = Locked<NewsListener?>(nil)
  private let threads = Locked<[Thread]>([])
  private let state = Locked(State())

  private struct State {
    var isStopped = false
    /// Whether a thread is to look for a wake-up that is due. The thread that does takes it back.
    var isDue = false
    /// Until then the gateway is left alone.
    var rests: Instant?
  }

  private static let pollSpan = Instant.Span.milliseconds(250)

  package init(
    _ host: ProtocolHost, serving protocols: [any ProtocolRoom.Type], at gateway: WebhookReceiver,
    through transport: any ProviderTransport, limits: WakeUpLimits = WakeUpLimits()
  ) {
    WakeUpMetrics.register()
    self.host = host
    self.protocols = protocols
    self.limits = limits
    watcher = Watcher(host: host, protocols: protocols, limits: limits)
    sender = WakeUpSender(
      host: host, protocols: protocols, limits: limits, gateway: gateway,
      transport: CircuitBreaker(transport, provider: "push", clock: host.clock))
  }

  package var routes: [Route] {
    let endpoints: [any Endpoint] = [
      PutPush(host: host, protocols: protocols), DeletePush(host: host),
    ]
    return endpoints.map { $0.route(on: host.database) }
  }

  /// Call once, before the first request.
  package func start() {
    listener.withLock { [heard] in
      $0 = host.database.listen { message in
        heard.withLock { heard in
          switch message {
          case .news(let news): heard.add(news, at: .now())
          case .anything: heard.miss()
          }
        }
      }
    }
    threads.withLock { threads in
      threads = (0..<WakeUpLimits.concurrencyMax).map { _ in
        Thread(niceness: Thread.behindWriter) { [self] in send() }
      }
      threads.append(Thread(niceness: Thread.behindWriter) { [self] in watch() })
    }
  }

  /// Lets requests under way end. Call before the database is closed.
  package func stop() {
    listener.withLock { $0.take() }?.stop()
    state.signal { $0.isStopped = true }
    let ended = threads.withLock { threads in
      defer { threads = [] }
      return threads
    }
    for thread in ended { thread.join() }
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  private func wait(_ span: Instant.Span) {
    _ = state.wait(until: .now() + span) { $0.isStopped ? true : nil }
  }

  /// Looks into news, and now and then at all accounts, a part after each look.
  private func watch() {
    var isLookingAtAll = false
    var last: Identifier?
    var next = MonotonicTime.now() + limits.lookSpan
    while !isStopped {
      do {
        if heard.withLock({ $0.takeMissed() }) || MonotonicTime.now() >= next {
          (isLookingAtAll, last) = (true, nil)
          next = .now() + limits.lookSpan
        }
        let left = try watcher.look(
          into: heard.withLock {
            $0.take(after: limits.delay, atMost: Watcher.heardCountMax, now: .now())
          })
        heard.withLock { $0.keep(left) }
        if isLookingAtAll {
          last = try watcher.lookOn(after: last)
          isLookingAtAll = last != nil
        }
        try measure()
      } catch {
        Log.warning("sync.wake_ups_not_planned", ["reason": String(reflecting: error)])
        // What was heard is lost.
        heard.withLock { $0.miss() }
        wait(.seconds(1))
      }
      wait(isLookingAtAll ? .milliseconds(20) : Self.pollSpan)
    }
  }

  private func measure() throws {
    let due = try host.database.read { reader in try PushRow.firstDue(reading: reader) }
    let delay = due.map { host.clock.now() - $0 } ?? .milliseconds(-1)
    WakeUpMetrics.delay.set(max(0, delay.milliseconds / 1000))
    if delay >= .seconds(0) { callThread() }
  }

  private func callThread() { state.signal { $0.isDue = true } }

  /// Waits until a wake-up is due. Returns false once the program stops.
  private func isCalled() -> Bool {
    state.wait { state -> Bool? in
      guard !state.isStopped else { return false }
      guard state.isDue else { return nil }
      state.isDue = false
      return true
    } ?? false
  }

  /// Sends until the program stops. One thread calls the next while more is due.
  private func send() {
    while isCalled() {
      let now = host.clock.now()
      if let rests = state.withLock({ $0.rests }), rests > now { continue }
      do {
        switch try sender.sendNext(ifMore: callThread) {
        case .idle: break
        case .done: callThread()
        case .rest(let span): state.withLock { $0.rests = now + span }
        }
      } catch {
        Log.warning("sync.wake_ups_not_sent", ["reason": String(reflecting: error)])
        wait(.seconds(1))
      }
    }
  }
}
