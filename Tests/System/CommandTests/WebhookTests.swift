import Base
import TestEngines
import Testing

struct WebhookTests {
  private let scratch: ScratchDirectory
  private let environment: [String: String]
  private let billing: Running

  init() throws {
    let running = try RunningBilling(
      at: Instant(rfc3339: "2026-03-02T10:00:00Z")!,
      adding: ["COFFER_STRIPE_WEBHOOK_SECRETS": "whsec_new, whsec_old"])
    (scratch, environment, billing) = (running.scratch, running.environment, running.program)
  }

  private func send(_ words: String..., lineEnd: String = "\r\n", secrets: String? = nil) throws
    -> Finished
  {
    let body = """
      {"id":"evt_1","object":"event","type":"product.created","created":1767607200,
       "livemode":true,"api_version":"2025-03-31.basil",
       "data":{"object":{"id":"prod_1","object":"product"}}}
      """
    let head = [
      "POST /webhooks/stripe HTTP/1.1", "Host: old.example", "Content-Type: application/json",
      "Stripe-Signature: t=1,v1=00", "Content-Length: \(body.utf8.count)", "",
    ]
    let path = try scratch.write(
      (head + [body]).joined(separator: lineEnd), to: "event.http")
    var environment = environment
    if let secrets { environment["COFFER_STRIPE_WEBHOOK_SECRETS"] = secrets }
    return try Finished(["webhook", "send", path] + words, environment: environment)
  }

  @Test(arguments: ["\r\n", "\n"])
  func `a recorded delivery is signed anew and accepted`(lineEnd: String) throws {
    let sent = try send(lineEnd: lineEnd)
    #expect(sent.code == 0)
    #expect(sent.out == "{\"status\":\"recorded\"}\n")
  }

  @Test func `a delivery sent twice is a duplicate`() throws {
    _ = try send()
    #expect(try send("--json").out.contains("duplicate"))
  }

  @Test func `a secret that is being rotated out still signs`() throws {
    #expect(try send("--secret-index", "2").code == 0)
    #expect(try send("--secret-index", "3").code == 64)
  }

  @Test func `a signature of another time is refused`() throws {
    let sent = try send("--at", "2026-01-05T10:00:00Z")
    #expect(sent.code == 1)
    #expect(sent.errors == "coffer: HTTP 400\n")
  }

  @Test func `a secret the receiver does not know is refused`() throws {
    #expect(try send(secrets: "whsec_other").code == 1)
  }

  @Test func `a receiver that is not there is code 69`() throws {
    let sent = try send("--url", "http://127.0.0.1:1/webhooks/stripe")
    #expect(sent.code == 69)
    #expect(sent.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ("stripe", ["--now"], 64, "--now needs --account"),
    ("stripe", ["--account", "ada"], 64, "--account needs --now"),
    ("apple", ["--account", "ada", "--now"], 1, "is signed by its store"),
    ("stripe", ["--account", "ada", "--now"], 1, "the fixture is not a Stripe event"),
  ])
  func `what cannot be made anew is refused`(
    store: String, words: [String], code: Int32, complaint: String
  ) throws {
    _ = try Finished(
      ["account", "create", "--username", "ada", "--key-file", scratch.path + "/key"],
      environment: environment)
    let path = try scratch.write("POST /webhooks/\(store) HTTP/1.1\n\n{}", to: "event.http")
    let sent = try Finished(["webhook", "send", path] + words, environment: environment)
    #expect(sent.code == code)
    #expect(sent.errors.contains(complaint))
  }

  @Test func `nothing is made anew for an account that is not there`() throws {
    let sent = try send("--account", "eve", "--now")
    #expect(sent.errors == "coffer: there is no account with the username eve\n")
    #expect(sent.code == 1)
  }

  @Test func `a fixture that is no request is refused`() throws {
    let path = try scratch.write("{}", to: "event.json")
    let sent = try Finished(["webhook", "send", path], environment: environment)
    #expect(sent.code == 1)
    #expect(sent.errors == "coffer: \(path) is not a complete HTTP request\n")
  }
}
