import Base
import Crypto
package import HTTPServer
import JSON

/// The API as Stripe provides it: key, version, clock, errors, and faults on demand.
extension FakeStripe {
  /// The API's routes for our own HTTP server.
  package func routes() -> [Route] {
    let names = ["subscriptions", "invoices", "invoice_payments", "refunds", "disputes"]
    let all =
      names + [
        "charges", "customers", "checkout/sessions", "events", "setup_intents",
        "subscription_schedules",
      ]
    let places = all.flatMap { ["/v1/\($0)", "/v1/\($0)/{id}"] } + ["/v1/invoices/{id}/lines"]
    return FakeRoutes.routes(places.map { ("GET", $0) } + StripeOrders.places) { self.answer($0) }
  }

  /// Answers a request at the clock's time; nil is a timeout.
  package func answer(_ request: FakeRequest) -> FakeAnswer? {
    catchUp()
    switch faults.failureOfNextRequest() {
    case .timeout: return nil
    case .status(let status, let retryAfter):
      let text = status == 429 ? "Too many requests hit the API too quickly." : "Something failed."
      return reply(
        refusal: .init(status: status, code: status == 429 ? "rate_limit" : nil, message: text),
        retryAfter.map { [("Retry-After", String($0))] } ?? [])
    case nil: break
    }
    let version =
      request.header("stripe-version").flatMap { StripeVersion(rawValue: $0) } ?? settings.version
    let now = clock.now
    let world = state.withLock { $0.world(at: now, lag: faults.replicaLag) }
    do throws(StripeReads.Refusal) {
      try authorize(request)
      if request.method != "GET" {
        let answer = try obey(request, version)
        guard !faults.losesAnswer() else {
          throw .init(status: 500, code: nil, message: "Something failed.")
        }
        return answer
      }
      let (segments, parameters) = try read(request)
      let reads = StripeReads(
        rendering: StripeRendering(world: world, version: version), now: now)
      return reply(
        200, try reads.answer(segments, parameters), [("Stripe-Version", version.rawValue)])
    } catch {
      return reply(refusal: error)
    }
  }

  private func authorize(_ request: FakeRequest) throws(StripeReads.Refusal) {
    let expected = Array("Bearer ".utf8) + key.exposed
    let given = Array((request.header("authorization") ?? "").utf8)
    guard constantTimeEqual(given, expected) else {
      throw .init(status: 401, code: nil, message: "Invalid API Key provided.")
    }
  }

  private func read(
    _ request: FakeRequest
  ) throws(StripeReads.Refusal) -> ([String], StripeReads.Parameters) {
    let parts = request.path.split(separator: "?", maxSplits: 1)
    let segments = parts[0].split(separator: "/").compactMap { Self.decoded($0) }
    return (segments, try Self.parameters(parts.count > 1 ? parts[1] : ""))
  }

  /// The parameters of a query or a form.
  private static func parameters(
    _ text: Substring
  ) throws(StripeReads.Refusal) -> StripeReads.Parameters {
    let query = text.split(separator: "&")
    let parameters = query.compactMap { pair -> (name: String, value: String)? in
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(sides[0]), let value = decoded(sides.last ?? "") else {
        return nil
      }
      return (name, sides.count > 1 ? value : "")
    }
    guard parameters.count == query.count else {
      throw .init(status: 400, code: nil, message: "The query is not percent-encoded.")
    }
    return parameters
  }

  /// Carries out a request once for each idempotency key, and repeats the answer.
  private func obey(
    _ request: FakeRequest, _ version: StripeVersion
  ) throws(StripeReads.Refusal) -> FakeAnswer {
    let (segments, _) = try read(request)
    let form = try Self.parameters(String(decoding: request.body, as: UTF8.self)[...])
    let meaning = "\(request.method) \(request.path) \(form)"
    let key = request.header("idempotency-key")
    let now = clock.now
    // Keys are forgotten after a day.
    if let key, let known = state.withLock({ $0.obeyed[key] }), now - known.at < .hours(24) {
      guard known.meaning == meaning else {
        throw .init(
          status: 400, code: nil,
          message: "Keys for idempotent requests can only be used with the same parameters.",
          type: "idempotency_error")
      }
      return FakeAnswer(
        status: known.answer.status,
        headers: known.answer.headers + [("Idempotent-Replayed", "true")],
        body: known.answer.body)
    }
    let orders = StripeOrders(version: version)
    let outcome = operate { world -> Result<JSONValue, StripeReads.Refusal> in
      do throws(StripeReads.Refusal) {
        return .success(try orders.obey(request.method, segments, form, &world))
      } catch {
        return .failure(error)
      }
    }
    let answer: FakeAnswer
    switch outcome {
    case .success(let json):
      answer = reply(200, json, [("Stripe-Version", version.rawValue)])
    case .failure(let refusal): answer = reply(refusal: refusal)
    }
    // A request that was refused before it changed anything may be sent again.
    if let key, answer.status == 200 || answer.status == 402 {
      state.withLock { $0.obeyed[key] = (meaning, answer, now) }
    }
    return answer
  }

  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard rest.count >= 2, let decoded = Hex.decode(rest.prefix(2)) else { return nil }
        bytes += decoded
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private func reply(
    refusal: StripeReads.Refusal, _ headers: [(name: String, value: String)] = []
  ) -> FakeAnswer {
    reply(refusal.status, refusal.json, headers)
  }

  private func reply(
    _ status: Int, _ json: JSONValue, _ headers: [(name: String, value: String)]
  ) -> FakeAnswer {
    let id = stripeIdentifier("req", "\(clock.now.milliseconds)/\(faults.requestCount)")
    let own = [
      ("Content-Type", "application/json"), ("Date", clock.now.httpDate), ("Request-Id", id),
    ]
    return FakeAnswer(status: status, headers: own + headers, body: json.indented())
  }
}
