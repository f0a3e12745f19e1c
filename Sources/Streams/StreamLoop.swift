import Accounts
import Base
import HTTPServer
import Storage

/// The thread that serves all open streams: it sends them events, and ends them.
final class StreamLoop: Sendable {
  struct Arrival: Sendable {
    let socket: Int32
    let account: Identifier
    let credential: Credential
    let seat: Seats.Seat
  }

  private struct Inbox {
    var arrivals: [Arrival] = []
    var heard = News.Waiting()
    var mayHaveMissed = false
    var looks: [LookResult] = []
    var isStopping = false
    var isStopped = false
  }

  private struct LookResult {
    let accounts: [Identifier]
    let result: Result<[Look.Finding], any Error>
  }

  private let inbox = Locked(Inbox())
  private let watch: SocketWatch
  private let limits: StreamLimits
  private let look: Looking
  private let thread = Locked<Thread?>(nil)

  /// Answers questions on another thread.
  typealias Looking =
    @Sendable (
      [Look.Question], @escaping @Sendable (Result<[Look.Finding], any Error>) -> Void
    ) -> Void

  /// A power of two, to which a list of values is filled up.
  private static let lookedCountMax = 64
  private static let retryPause = Instant.Span.seconds(1)

  init?(_ limits: StreamLimits, look: @escaping Looking) {
    guard let watch = SocketWatch() else { return nil }
    self.watch = watch
    self.limits = limits
    self.look = look
  }

  func start() {
    thread.withLock { $0 = Thread(niceness: Thread.behindWriter) { [self] in run() } }
  }

  /// Ends all streams. Their clients come again after a while, each after another one.
  func stop() {
    inbox.withLock { $0.isStopping = true }
    watch.ring()
    thread.withLock { $0.take() }?.join()
  }

  func add(_ arrival: Arrival) {
    let isStopped = inbox.withLock { inbox in
      if !inbox.isStopped { inbox.arrivals.append(arrival) }
      return inbox.isStopped
    }
    if isStopped { watch.end(arrival.socket) }
    watch.ring()
  }

  func hear(_ heard: NewsListener.Heard) {
    inbox.withLock { inbox in
      switch heard {
      case .news(let news): inbox.heard.add(news)
      case .anything: inbox.mayHaveMissed = true
      }
    }
    watch.ring()
  }

  private func run() {
    var streams = OpenStreams(watch, limits)
    var audience = Audience()
    var wheel = Wheel(limits.heartbeat)
    var isLooking = false
    var looksAgain = MonotonicTime.now()
    while true {
      let isIdle = audience.isEmpty
      let events = watch.wait(atMost: isIdle ? -1 : wheel.milliseconds(at: .now()))
      var input = inbox.withLock { inbox in
        defer {
          inbox.arrivals = []
          inbox.heard = News.Waiting()
          inbox.mayHaveMissed = false
          inbox.looks = []
        }
        if inbox.isStopping { inbox.isStopped = true }
        return inbox
      }
      let now = MonotonicTime.now()
      for event in events {
        switch event {
        case .gone(let socket): streams.end(socket, .closed)
        case .hasRoom(let socket): streams.goOn(socket, at: now)
        }
      }
      for arrival in input.arrivals
      where streams.begin(arrival.socket, arrival.seat, at: now) {
        audience.enter(arrival.socket, of: arrival.account, by: arrival.credential)
        wheel.add(arrival.socket)
      }
      if input.isStopping { return streams.endAll() }
      if let news = input.heard.takeNews() {
        for (socket, tell) in audience.hear(news) { streams.tell(socket, tell, at: now) }
      } else {
        input.mayHaveMissed = true
      }
      if input.mayHaveMissed { audience.miss() }
      for look in input.looks {
        isLooking = false
        switch look.result {
        case .success(let findings):
          let effects = audience.learn(findings, at: now)
          StreamMetrics.missed.add(effects.missedCount)
          for (socket, tell) in effects.tells { streams.tell(socket, tell, at: now) }
          for socket in effects.ended { streams.end(socket, .revoked) }
        case .failure:
          for account in look.accounts { audience.doubt(account) }
          looksAgain = now + Self.retryPause
        }
      }
      for socket in wheel.take(at: now) where streams.beat(socket, at: now) {
        audience.doubt(accountOf: socket)
      }
      streams.endStalled(at: now)
      for socket in streams.takeEnded() {
        audience.leave(socket)
        wheel.remove(socket)
      }
      if !isLooking, now >= looksAgain { isLooking = beginLook(&audience) }
    }
  }

  /// Looks at the next accounts that are doubted; false if there are none.
  private func beginLook(_ audience: inout Audience) -> Bool {
    let questions = audience.takeQuestions(atMost: Self.lookedCountMax)
    guard !questions.isEmpty else { return false }
    look(questions) { [self] result in
      inbox.withLock {
        $0.looks.append(LookResult(accounts: questions.map(\.account), result: result))
      }
      watch.ring()
    }
    return true
  }
}
