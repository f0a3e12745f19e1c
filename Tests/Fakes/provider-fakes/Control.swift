import Base
import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import JSON
import ProviderFakes

/// The control API: operations at the stores, the time, and the sales.
///
/// Handles one control request at a time. Each answer lists the pushes that the request caused.
final class Control: Sendable {
  private let stores: Stores
  private let directory: String
  private let target: String?
  private let client = HTTPClient()
  /// Stripe's events that the target accepted.
  private let accepted = Locked<Set<String>>([])
  private let turn = Locked<Void>(())
  /// The pushes not yet reported, with the status of each, 0 for no answer.
  private let pushed = Locked<[JSONValue]>([])

  /// `target` is the base URL of `/webhooks/<provider>`; nil: nothing is pushed.
  init(_ stores: Stores, directory: String, target: String?) {
    self.stores = stores
    self.directory = directory
    self.target = target
  }

  func routes() -> [Route] {
    [
      route("GET", "/control/truth") { _, _ in self.stores.truth },
      route("GET", "/control/clock") { _, _ in self.time },
      route("POST", "/control/clock") { _, input in
        try self.move(input)
        return self.time
      },
      route("POST", "/control/push") { _, _ in .object([]) },
      route("POST", "/control/faults/{provider}") { path, input in
        switch path[0] {
        case "apple": try input.script(self.stores.apple.faults)
        case "google": try input.script(self.stores.google.faults)
        case "stripe": try input.script(self.stores.stripe.faults)
        case "btcpay": try input.script(self.stores.btcpay.faults)
        default: throw ControlInput.unknown("provider", path[0])
        }
        return .object([])
      },
      route("POST", "/control/{provider}/{operation}") { path, input in
        try Operations(stores: self.stores).perform(path[0], path[1], input)
      },
    ]
  }

  /// The work of a route runs on its own thread, because a push may take long.
  private func route(
    _ method: String, _ pattern: String,
    _ work: @escaping @Sendable ([String], ControlInput) throws -> JSONValue
  ) -> Route {
    Route(method, pattern) { _, captured in
      let path = captured.map(String.init)
      let body: Admission.Body = method == "GET" ? .none : .memory(byteCountMax: 64 * 1024)
      return .ready(
        Admission(body: body) { bytes in
          .pending { done in
            _ = Thread {
              // No one joins it.
              pthread_detach(pthread_self())
              done(
                Result {
                  try self.turn.withLock { _ in
                    let value = try work(path, ControlInput(bytes))
                    if method != "GET" { self.push() }
                    return self.answer(value)
                  }
                })
            }
          }
        })
    }
  }

  private func answer(_ value: JSONValue) -> Response {
    guard case .object(var members) = value else { preconditionFailure("answers are objects") }
    let pushed = takePushed()
    if !pushed.isEmpty { members.append(.init("pushed", .array(pushed))) }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")],
      body: .bytes(JSONValue.object(members).encoded() + Array("\n".utf8)))
  }

  // MARK: time

  private var time: JSONValue {
    let now = stores.clock.now
    return ["now": .string(now.description), "now_ms": .integer(now.milliseconds)]
  }

  /// Moves the time forward by `advance_ms`, or to `to_ms`. Programs that share the clock's file follow.
  private func move(_ input: ControlInput) throws {
    let now = stores.clock.now
    let span = try input.number("advance_ms", 0...Self.advanceMax, otherwise: 0)
    let last = now.milliseconds + Self.advanceMax
    let to = try input.number("to_ms", now.milliseconds...last, otherwise: now.milliseconds + span)
    try move(to: Instant(milliseconds: to))
  }

  /// Limits each step of time, so that events are pushed as they happen and not all at the end.
  private static let step = Instant.Span.hours(6)

  /// The longest move of time at once: two years, in which a store sells some dozen periods.
  private static let advanceMax: Int64 = 730 * 86_400_000

  private func move(to moment: Instant) throws {
    while true {
      stores.stripe.run(until: min(moment, stores.clock.now + Self.step))
      stores.apple.catchUp()
      stores.google.catchUp()
      stores.btcpay.catchUp()
      try keepClock()
      if stores.clock.now >= moment { return }
      push()
    }
  }

  /// Lets virtual time run like the machine's from now on, and pushes what is due.
  ///
  /// One second is precise enough for signatures, whose signers may be half a minute ahead. The stores are
  /// called more rarely, because they keep their state of each time.
  func runClock() {
    _ = Thread {
      var last = MonotonicTime.now()
      var ticks = 0
      while true {
        sleep(1)
        self.turn.withLock { _ in
          let now = MonotonicTime.now()
          let passed = Int64(now.seconds(since: last) * 1000)
          last = now
          ticks += 1
          let moment = self.stores.clock.now + .milliseconds(passed)
          do {
            if ticks % 10 == 0 {
              try self.move(to: moment)
              self.push()
              _ = self.takePushed()
            } else {
              self.stores.clock.set(moment)
              try self.keepClock()
            }
          } catch { complain("provider-fakes: \(error)\n", code: 1) }
        }
      }
    }
  }

  /// Writes the time to the file that our programs read.
  func keepClock() throws(RecordingError) {
    let text = "\(stores.clock.now.milliseconds)\n"
    try Recording(folder: directory, files: ["clock.new": Array(text.utf8)]).add()
    guard unsafe rename("\(directory)/clock.new", "\(directory)/clock") == 0 else {
      throw RecordingError(text: "cannot write the clock")
    }
  }

  // MARK: pushing

  private func takePushed() -> [JSONValue] {
    pushed.withLock { pushed in
      defer { pushed = [] }
      return pushed
    }
  }

  /// Sends everything that is due.
  private func push() {
    guard let target else { return }
    func send(_ delivery: FakeDelivery, _ type: String, _ request: FakeRequest) -> Int? {
      let headers = request.headers.filter {
        !["host", "content-length"].contains($0.name.lowercased())
      }
      let reply = try? client.send(
        request.method, target + request.path, headers: headers.map { ($0.name, $0.value) },
        body: request.body, timeout: .seconds(10))
      let result: JSONValue = [
        "provider": .string(delivery.provider), "id": .string(delivery.id),
        "type": .string(type), "status": .integer(Int64(reply?.status ?? 0)),
        "answer": .string(String(decoding: reply?.body.prefix(2000) ?? [], as: UTF8.self)),
      ]
      pushed.withLock { $0.append(result) }
      return reply?.status
    }
    let now = stores.clock.now
    for delivery in stores.apple.dueDeliveries {
      let request = stores.apple.request(for: delivery, at: now)
      let status = send(delivery, stores.apple.type(of: delivery), request)
      stores.apple.answered(delivery, status: status)
    }
    for delivery in stores.google.dueDeliveries {
      let request = stores.google.request(for: delivery, at: now)
      let status = send(delivery, stores.google.type(of: delivery), request)
      stores.google.answered(delivery, status: status ?? 0)
    }
    // One after the other, because a failing delivery holds up the rest.
    while let delivery = stores.btcpay.dueDelivery {
      let request = stores.btcpay.request(for: delivery, at: now)
      let status = send(delivery, stores.btcpay.type(of: delivery), request)
      stores.btcpay.answered(delivery, status: status ?? 0)
    }
    for delivery in stores.stripe.deliveries
    where !accepted.withLock({ $0.contains(delivery.id) }) {
      let request = stores.stripe.request(for: delivery, at: now)
      let status = send(delivery, stores.stripe.type(of: delivery), request)
      if let status, (200..<300).contains(status) {
        accepted.withLock { _ = $0.insert(delivery.id) }
      }
    }
  }
}
