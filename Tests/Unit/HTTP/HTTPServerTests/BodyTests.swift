import Base
import HTTPMessages
import HTTPServer
import RawClient
import SeededRandom
import Testing

/// Counts the bytes and calls that one admission's functions receive.
final class Witness: BodySink {
  struct Counts {
    var bytes: [UInt8] = []
    var finished = 0
    var abandoned = 0
  }

  private let counts = Locked(Counts())
  private let byteCountMax: Int

  /// The sink is full after this number of bytes.
  init(byteCountMax: Int = .max) { self.byteCountMax = byteCountMax }

  struct Full: Error {}

  func write(_ bytes: RawSpan) throws {
    try counts.withLock { counts in
      unsafe bytes.withUnsafeBytes { unsafe counts.bytes.append(contentsOf: $0) }
      if counts.bytes.count > byteCountMax { throw Full() }
    }
  }

  var seen: Counts { counts.withLock { $0 } }

  /// Waits until the counts are as expected; false after 10 seconds.
  func becomes(_ isRight: (Counts) -> Bool) -> Bool {
    counts.wait(until: .now() + .seconds(3)) { isRight($0) ? true : nil } ?? false
  }

  func finish() { counts.signal { $0.finished += 1 } }
  func abandon() { counts.signal { $0.abandoned += 1 } }

  func route(byteCountMax: Int64 = 100_000_000) -> Route {
    Route("PUT", "/content") { _, _ in
      .ready(
        Admission(
          body: .stream(byteCountMax: byteCountMax, self),
          finish: { bytes in
            self.finish()
            return .ready(.text("\(bytes.count) \(self.seen.bytes.count)"))
          }, abandon: { self.abandon() }))
    }
  }
}

private func put(_ byteCount: Int) -> String {
  "PUT /content HTTP/1.1\r\nHost: a\r\nContent-Length: \(byteCount)\r\n\r\n"
}

@Suite struct BodyTests {
  @Test func `a body of any size comes back as it went`() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let server = try startServer([
      .plain("POST", "/echo", body: .memory(byteCountMax: 1 << 20)) { _, bytes in
        Response(status: 200, body: .bytes(bytes))
      }
    ])
    let client = RawClient(server)
    for count in [0, 1, 2, 4095, 16_384, 32_768, 32_769, 300_000] {
      let body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n")
      client.send(body)
      let isSame = client.receiveResponse()?.body == body
      #expect(isSame, "seed \(seed), \(count) bytes")
    }
  }

  @Test func `a stream reaches its sink whole and in order, and nothing is held back`() throws {
    let witness = Witness()
    let server = try startServer([witness.route()])
    let body = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    let client = RawClient(server)
    client.send(put(body.count))
    client.send(body)
    #expect(client.receiveResponse()?.text == "0 2000000")
    // Compared outside of `#expect`, which would look for the shortest difference of two long arrays.
    let isWhole = witness.seen.bytes == body
    #expect(isWhole)
    #expect(witness.seen.abandoned == 0)
  }

  @Test func `a body that comes byte by byte is whole`() throws {
    let server = try startServer([.echo])
    let client = RawClient(server)
    for byte in Array("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello".utf8) {
      client.send([byte])
    }
    #expect(client.receiveResponse()?.text == "hello")
  }

  @Test(arguments: [true, false])
  func `a client that leaves in mid-body has its admission abandoned once, and no more`(
    _ resets: Bool
  ) throws {
    let witness = Witness()
    let server = try startServer([witness.route()])
    let client = RawClient(server)
    client.send(put(1000) + "half")
    #expect(poll { !witness.seen.bytes.isEmpty })
    if resets { client.reset() } else { client.finishSending() }
    #expect(witness.becomes { $0.abandoned == 1 })
    server.drain(within: .seconds(1))
    #expect(witness.seen.finished == 0)
    #expect(witness.seen.abandoned == 1)
  }

  @Test func `a full sink refuses with the owner's problem once a short rest has gone by`() throws {
    let witness = Witness(byteCountMax: 10)
    let server = try startServer([witness.route(), .hello]) { error, _ in
      error is Witness.Full ? Problem(503, "disk_full", "Disk full", "Try later.") : nil
    }
    let client = RawClient(server)
    client.send(put(200_000))
    client.send([UInt8](repeating: 1, count: 200_000))
    #expect(client.receiveResponse()?.problem == "disk_full")
    #expect(witness.seen.abandoned == 1)
    #expect(witness.seen.finished == 0)
    #expect(client.exchange(getHello)?.status == 200)
  }

  @Test func `a full sink refuses a long body at once and closes`() throws {
    let witness = Witness(byteCountMax: 10)
    let server = try startServer([witness.route()]) { _, _ in
      Problem(503, "disk_full", "Disk full", "Try later.")
    }
    let client = RawClient(server)
    client.send(put(50_000_000))
    client.send([UInt8](repeating: 1, count: 100_000))
    let response = RawResponse(client.receiveAll() ?? [], toHead: false)
    #expect(response?.problem == "disk_full")
    #expect(response?.header("connection") == "close")
    #expect(witness.becomes { $0.abandoned == 1 })
  }

  @Test func `a refused body that never comes costs only the discard span`() throws {
    let server = try startServer([.echo], limits: quickLimits)
    let client = RawClient(server)
    let start = MonotonicTime.now()
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n")
    #expect(client.receiveAll() != nil)
    #expect(MonotonicTime.now().seconds(since: start) < 1.5)
  }
}

/// Waits until a condition holds; false after 10 seconds.
func poll(_ condition: () -> Bool) -> Bool {
  let deadline = MonotonicTime.now() + .seconds(10)
  while MonotonicTime.now() < deadline {
    if condition() { return true }
    pause(milliseconds: 2)
  }
  return condition()
}
