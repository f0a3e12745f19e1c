import Base
import Glibc
import HTTPClient
import HTTPMessages
import HTTPServer
import JSON
import ProviderFakes

/// The control API: what happens at the stores, what time it is, what was sold.
///
/// One control request at a time; each answers with the pushes that it led to.
final class Control: Sendable {
  private let stores: Stores
  private let directory: String
  private let target: String?
  private let client = HTTPClient()
  /// Stripe's events that the target took.
  private let accepted = Locked<Set<String>>([])
  private let turn = Locked<Void>(())

  /// `target` is where `/webhooks/<provider>` answers; nil: nothing is pushed.
  init(_ stores: Stores, directory: String, target: String?) {
    self.stores = stores
    self.directory = directory
    self.target = target
  }

  func routes() -> [Route] {
    [
      route("GET", "/control/truth") { _, _ in self.stores.truth },
      route("POST", "/control/clock") { _, input in
        try self.move(input)
        return ["now": .string(self.stores.clock.now.description)]
      },
      route("POST", "/control/push") { _, _ in .object([]) },
      route("POST", "/control/faults/{provider}") { path, input in
        switch path[0] {
        case "apple": input.script(self.stores.apple.faults)
        case "google": input.script(self.stores.google.faults)
        case "stripe": input.script(self.stores.stripe.faults)
        case "btcpay": input.script(self.stores.btcpay.faults)
        default: throw ControlInput.unknown("provider", path[0])
        }
        return .object([])
      },
      route("POST", "/control/{provider}/{operation}") { path, input in
        try Operations(stores: self.stores).perform(path[0], path[1], input)
      },
    ]
  }

  /// The work of a route is done on a thread of its own, for a push may take its time.
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
              done(
                Result {
                  try self.turn.withLock { _ in
                    let value = try work(path, ControlInput(bytes))
                    return self.answer(value, pushed: method == "GET" ? [] : self.push())
                  }
                })
            }
          }
        })
    }
  }

  private func answer(_ value: JSONValue, pushed: [JSONValue]) -> Response {
    guard case .object(var members) = value else { preconditionFailure("answers are objects") }
    if !pushed.isEmpty { members.append(.init("pushed", .array(pushed))) }
    return Response(
      status: 200, headers: [("Content-Type", "application/json")],
      body: .bytes(JSONValue.object(members).encoded() + Array("\n".utf8)))
  }

  // MARK: time

  /// Forward by `advance_ms`, or to the moment `to_ms`; whoever shares the clock's file follows.
  private func move(_ input: ControlInput) throws {
    let to = input.number("to_ms")
    let moment =
      to == 0
      ? stores.clock.now + .milliseconds(input.number("advance_ms")) : Instant(milliseconds: to)
    guard moment >= stores.clock.now else {
      throw Problem(400, "past", "In the past", "Virtual time does not go back.")
    }
    stores.stripe.run(until: moment)
    stores.apple.catchUp()
    stores.google.catchUp()
    stores.btcpay.catchUp()
    try keepClock()
  }

  /// Writes the time where programs of ours read it.
  func keepClock() throws(RecordingError) {
    let text = "\(stores.clock.now.milliseconds)\n"
    try Recording(folder: directory, files: ["clock.new": Array(text.utf8)]).add()
    guard unsafe rename("\(directory)/clock.new", "\(directory)/clock") == 0 else {
      throw RecordingError(text: "cannot write the clock")
    }
  }

  // MARK: pushing

  /// Sends what is due; what each was answered, 0 for no answer.
  private func push() -> [JSONValue] {
    guard let target else { return [] }
    var results: [JSONValue] = []
    func send(_ delivery: FakeDelivery, _ type: String, _ request: FakeRequest) -> Int? {
      let headers = request.headers.filter {
        !["host", "content-length"].contains($0.name.lowercased())
      }
      let reply = try? client.send(
        request.method, target + request.path, headers: headers.map { ($0.name, $0.value) },
        body: request.body, timeout: .seconds(10))
      results.append([
        "provider": .string(delivery.provider), "id": .string(delivery.id),
        "type": .string(type), "status": .integer(Int64(reply?.status ?? 0)),
        "answer": .string(String(decoding: reply?.body.prefix(2000) ?? [], as: UTF8.self)),
      ])
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
    // One after the other: what fails holds up the rest.
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
    return results
  }
}
