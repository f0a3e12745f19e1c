import Base
import Configuration
import Glibc
import JSON
import RawClient
import StripeSamples
import TestDevices
import Testing

/// Abusive requests to the real programs: each gets a typed refusal, no 5xx, and the next request is served.
@Suite struct AbuseTests {
  private static let webhook = "POST /webhooks/stripe HTTP/1.1\r\nHost: a\r\n"

  /// Whole requests, each with its answer.
  private static let malformed: [(request: String, status: Int, problem: String?)] = [
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "malformed_request"),
    ("GET /healthz HTTP/1.1\r\n\r\n", 400, nil),
    ("GET /healthz HTTP/1.0\r\n\r\n", 400, "malformed_request"),
    (webhook + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", 400, "malformed_request"),
    (
      webhook + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
      "malformed_request"
    ),
    ("GET /v1/files/%00/content HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed_request"),
    ("GET /v1%2Faccount HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed_request"),
    ("GET /v1/updates?since=%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed_request"),
    ("GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", 400, "malformed_request"),
    ("GET http://b/healthz HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed_request"),
    (webhook + "Content-Length: -1\r\n\r\n", 400, nil),
    (webhook + "Content-Length: 99999999999999999999\r\n\r\n", 413, nil),
    ("GET /" + String(repeating: "a", count: 40_000) + " HTTP/1.1\r\nHost: a\r\n\r\n", 414, nil),
    (
      "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "a", count: 40_000)
        + "\r\n\r\n", 431, nil
    ),
    (
      webhook + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411, "length_required"
    ),
    (
      "GET /healthz HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: a\r\n", count: 101) + "\r\n",
      431, "too_many_headers"
    ),
    ("BREW /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed"),
    ("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", 404, "not_found"),
  ]

  @Test(arguments: [Program.sync, .billing])
  func `malformed requests get what is said of them, and the next is served`(
    program: Program
  ) throws {
    let server = try Installation().start(program)
    for (request, status, problem) in Self.malformed {
      let answer = try server.exchange(Array(request.utf8))
      let line = request.prefix { $0 != "\r\n" }.prefix(80)
      #expect(answer.status == status, "\(line)")
      if let problem { #expect(answer.problem == problem, "\(line)") }
    }
    #expect(server.isReady)
    #expect(server.stop() == .exited(0), "\(server.lastWords)")
  }

  @Test func `clients that stop half-way or dawdle are let go, and the others are served`() throws {
    let installation = try Installation()
    let servers = try [installation.start(.sync), installation.start(.billing)]
    let signed = Self.webhook + "Stripe-Signature: t=1,v1=0\r\nContent-Length: 1000\r\n\r\n"
    let body = [UInt8](repeating: UInt8(ascii: "{"), count: 1000)
    var dawdling = [
      Thread { #expect(servers[1].endsDawdling(after: signed, over: body, within: 45)) }
    ]
    for server in servers {
      for _ in 0..<20 {
        dawdling.append(
          Thread {
            #expect(server.endsDawdling(over: Array("GET /healthz HTTP/1.1".utf8), within: 20))
          })
      }
      for cut in ["", "GET /hea", Self.webhook + "Content-Length: 100\r\n\r\n{"] {
        for _ in 0..<50 { RawClient(connectingTo: server.port)?.send(cut) }
        #expect(server.isReady)
      }
    }
    for thread in dawdling { thread.join() }
    for server in servers {
      #expect(server.isReady)
      #expect(server.stop() == .exited(0), "\(server.lastWords)")
    }
  }

  private static let badTexts: [(name: String, bytes: [UInt8])] = [
    ("duplicate names", Array(#"{"id":"a","id":"b"}"#.utf8)),
    ("10,000 levels", Array(String(repeating: "[", count: 10_000).utf8)),
    ("beyond 2^63", Array(#"{"id":9223372036854775808}"#.utf8)),
    ("invalid UTF-8", [0x22, 0xC3, 0x28, 0x22]),
    ("a null byte", Array("{}".utf8) + [0]),
    ("half an object", Array(#"{"id":"#.utf8)),
    ("nothing", []),
    ("another shape", Array("[]".utf8)),
  ]

  @Test func `a signed body that is no request is refused`() throws {
    let installation = try Installation()
    let sync = try installation.start(.sync)
    let device = try installation.device(of: sync)
    for (name, bytes) in Self.badTexts {
      let answer = try device.send(device.sign("POST", "/v1/files", body: bytes))
      #expect(answer.status == 400, "\(name)")
      #expect(try answer.problem == "body_invalid", "\(name)")
    }
    let large = [UInt8](repeating: UInt8(ascii: " "), count: (2 << 20) + 1)
    let answer = try device.send(device.sign("POST", "/v1/files", body: large))
    #expect(answer.status == 413)
    #expect(try answer.problem == "content_too_large")
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
  }

  @Test func `a delivery that cannot be read but is signed is kept, once`() throws {
    let installation = try Installation()
    let billing = try installation.start(.billing)
    for (name, bytes) in Self.badTexts {
      for word in ["undecodable", "duplicate"] {
        let signature = StripeSignature.header(body: bytes, at: Clock.system.now())
        let answer = try Self.deliver(bytes, signature: signature, to: billing)
        #expect(answer.status == 200, "\(name)")
        #expect(try JSON.parse(answer.body)["status"].string == word, "\(name)")
      }
    }
    let large = [UInt8](repeating: UInt8(ascii: " "), count: (2 << 20) + 1)
    let signature = StripeSignature.header(body: large, at: Clock.system.now())
    #expect(try Self.deliver(large, signature: signature, to: billing).status == 413)
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }

  @Test func `a signature header that proves nothing is refused`() throws {
    let billing = try Installation().start(.billing)
    let body = Sender.freshEvent().body
    let now = Clock.system.now()
    let right = StripeSignature.header(body: body, at: now)
    let time = "t=\(now.seconds)"
    let code = String(right.dropFirst(time.count + ",v1=".count))
    let late = StripeSignature.header(body: body, at: now + .minutes(-10))
    let early = StripeSignature.header(body: body, at: now + .minutes(10))
    let headers: [(name: String, value: String)] = [
      ("no t", "v1=\(code)"), ("two t", "\(time),\(time),v1=\(code)"), ("no v1", time),
      ("only v0", "\(time),v0=\(code)"),
      ("a short code", "\(time),v1=\(code.dropLast(2))"), ("a long code", "\(time),v1=\(code)00"),
      ("no hex", "\(time),v1=\(String(repeating: "z", count: 64))"), ("late", late),
      ("from the future", early), ("nothing", ""), ("t is no number", "t=x,v1=\(code)"),
    ]
    for (name, value) in headers {
      let answer = try Self.deliver(body, signature: value, to: billing)
      #expect(answer.status == 400, "\(name)")
      #expect(answer.problem == "signature_refused", "\(name)")
    }
    // The case of the digits proves nothing: Stripe's libraries differ about it.
    let upper = "\(time),v1=\(code.uppercased())"
    #expect(try Self.deliver(body, signature: upper, to: billing).status == 200)
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
  }

  private static func deliver(
    _ body: [UInt8], signature: String, to billing: Server
  ) throws -> RawResponse {
    let head = webhook + "Stripe-Signature: \(signature)\r\nContent-Length: \(body.count)\r\n\r\n"
    return try billing.exchange(Array(head.utf8) + body)
  }
}

extension Server {
  /// The answer to bytes sent unchanged.
  func exchange(_ bytes: [UInt8]) throws -> RawResponse {
    let client = RawClient(connectingTo: port)
    // A refusal may come before everything is sent.
    client?.send(bytes)
    guard let response = client?.receiveResponse() else {
      throw ScenarioError("\(program.rawValue) gives no whole answer")
    }
    return response
  }

  /// Sends one byte a second after `start`. Returns whether the server ends that within `seconds`.
  fileprivate func endsDawdling(
    after start: String = "", over bytes: [UInt8], within seconds: Int
  ) -> Bool {
    guard let client = RawClient(connectingTo: port) else { return false }
    client.send(start)
    for byte in bytes.prefix(seconds) {
      guard client.send([byte]) else { return true }
      sleep(1)
    }
    return false
  }
}
