import Base
import JSON
import ProviderFakes

let stripeAccount = Identifier(high: 0x0B50_DFBE_8C5B_4A7C, low: 0x9F36_1F2D_3B6F_0001)

/// 2026-03-02T10:00:00Z.
let stripeStart = Instant(seconds: 1_772_445_600)

func makeStripe(
  _ version: StripeVersion = .dahlia, at start: Instant = stripeStart,
  _ change: (inout StripeSettings) -> Void = { _ in }
) -> FakeStripe {
  var settings = StripeSettings(version)
  change(&settings)
  return FakeStripe(FakeClock(start), settings)
}

extension FakeStripe {
  /// The types of its deliveries, in order, without the first `count`.
  func types(after count: Int = 0) -> [String] {
    deliveries.dropFirst(count).map { type(of: $0) }
  }

  /// The content of a delivery.
  func event(_ delivery: FakeDelivery) -> JSON {
    let body = request(for: delivery, at: delivery.emitted).body
    guard let json = try? JSON.parse(body) else { preconditionFailure("a body is no JSON") }
    return json
  }

  /// The object of the last delivery of a type.
  func object(ofLast type: String) -> JSON {
    guard let delivery = deliveries.last(where: { self.type(of: $0) == type }) else {
      preconditionFailure("no \(type) was delivered")
    }
    return event(delivery)["data"]["object"]
  }

  /// An authorized read.
  func get(_ path: String, _ headers: [(String, String)] = []) -> FakeAnswer? {
    let key = String(decoding: key.exposed, as: UTF8.self)
    let own = [(name: "Authorization", value: "Bearer \(key)")]
    return answer(
      FakeRequest(method: "GET", path: path, headers: own + headers.map { ($0.0, $0.1) }))
  }

  /// An authorized change.
  func post(_ path: String, _ form: String) -> JSON {
    let key = String(decoding: key.exposed, as: UTF8.self)
    let request = FakeRequest(
      method: "POST", path: path, headers: [(name: "Authorization", value: "Bearer \(key)")],
      body: Array(form.utf8))
    guard let answer = answer(request), let json = try? JSON.parse(answer.body) else {
      preconditionFailure("no answer to \(path)")
    }
    return json
  }

  func json(_ path: String) -> JSON {
    guard let answer = get(path), let json = try? JSON.parse(answer.body) else {
      preconditionFailure("no answer to \(path)")
    }
    return json
  }
}
