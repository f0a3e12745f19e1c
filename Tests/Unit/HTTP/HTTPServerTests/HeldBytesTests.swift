import Base
import HTTPMessages
import HTTPServer
import LocalServer
import RawClient
import Testing

/// The memory that the server holds for slow clients, and for how many of them.
@Suite struct HeldBytesTests {
  /// A server that distinguishes clients by their `X-Forwarded-For`, and its gauge.
  private struct Scene {
    let server: HTTPServer
    let name: String

    init(_ name: String, _ change: (inout ServerLimits) -> Void, answer: Int = 0) throws {
      var limits = ServerLimits()
      limits.workerCount = 2
      limits.discardSpan = .seconds(5)
      change(&limits)
      self.name = name
      let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: answer)
      server = try LocalServer.startServer(
        [
          .plain("POST", "/echo", body: .memory(byteCountMax: 10_000_000)) { _, bytes in
            .text("\(bytes.count)")
          },
          .plain("GET", "/long") { _, _ in Response(status: 200, body: .bytes(bytes)) },
        ], name: name, limits: limits, proxies: [AddressRange("127.0.0.0/8")!])
    }

    /// The held bytes, according to the gauge.
    var held: Int {
      let gauge = "coffer_\(name)_http_held_bytes "
      let line = Metrics.shared.render().split(separator: "\n").first { $0.hasPrefix(gauge) }
      return line.flatMap { Int($0.dropFirst(gauge.count)) } ?? -1
    }

    /// A client that has sent `count` bytes of a body of 50,000.
    func half(_ count: Int, from address: String) -> RawClient {
      let client = RawClient(server)
      client.send(
        "POST /echo HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: \(address)\r\n"
          + "Content-Length: 50000\r\n\r\n")
      client.send([UInt8](repeating: 1, count: count))
      return client
    }

    func rest(_ client: RawClient, _ count: Int) -> RawResponse? {
      client.send([UInt8](repeating: 1, count: count))
      return client.receiveResponse()
    }
  }

  @Test func `half-sent bodies of one client are held up to its limit, and others' beside them`()
    throws
  {
    let scene = try Scene("held_client", { $0.heldByteCountPerClientMax = 100_000 })
    let first = (0..<2).map { _ in scene.half(40_000, from: "203.0.113.7") }
    #expect(poll { scene.held == 80_000 })
    let refused = scene.half(40_000, from: "203.0.113.7")
    #expect(scene.rest(refused, 10_000)?.problem == "too_much_held")
    let other = scene.half(50_000, from: "203.0.113.8")
    #expect(other.receiveResponse()?.text == "50000")
    for client in first { #expect(scene.rest(client, 10_000)?.text == "50000") }
    #expect(poll { scene.held == 0 })
    #expect(scene.half(50_000, from: "203.0.113.7").receiveResponse()?.status == 200)
  }

  @Test func `all clients together are held up to the server's limit`() throws {
    let scene = try Scene("held_all", { $0.heldByteCountMax = 100_000 })
    let first = (0..<2).map { scene.half(40_000, from: "203.0.113.\($0)") }
    #expect(poll { scene.held == 80_000 })
    let refused = scene.half(40_000, from: "203.0.113.9")
    #expect(scene.rest(refused, 10_000)?.problem == "too_much_held")
    for client in first { client.reset() }
    #expect(poll { scene.held == 0 })
    #expect(scene.half(50_000, from: "203.0.113.9").receiveResponse()?.status == 200)
  }

  @Test func `this machine's own clients have no share, but the server's limit`() throws {
    let scene = try Scene("held_local", { $0.heldByteCountPerClientMax = 10 })
    #expect(scene.half(50_000, from: "127.0.0.1").receiveResponse()?.status == 200)
    #expect(scene.half(50_000, from: "203.0.113.7").receiveResponse()?.problem == "too_much_held")
  }

  @Test func `an answer that its client does not read is held, and no second one beside it`() throws
  {
    let count = 30_000_000
    let scene = try Scene("held_answer", { $0.heldByteCountPerClientMax = count }, answer: count)
    let get = "GET /long HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.7\r\n\r\n"
    let slow = RawClient(scene.server)
    slow.send(get)
    #expect(poll { scene.held == count })
    #expect(RawClient(scene.server).exchange(get)?.problem == "too_much_held")
    slow.reset()
    #expect(poll { scene.held == 0 })
  }

  @Test func `a body that stands still is given up, however long it says it is`() throws {
    let scene = try Scene("held_still", { $0.bodySpan = .milliseconds(400) })
    let client = RawClient(scene.server)
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n0")
    #expect(client.receiveAll() != nil)
    #expect(poll { scene.held == 0 })
  }

  @Test(arguments: [(1024, 384), (20_256, 10_000), (100, 16)])
  func `the connections follow from the descriptors`(descriptors: Int, connections: Int) {
    let limits = ServerLimits(connectionsPerAddressMax: 7, descriptorCount: descriptors)
    #expect(limits.connectionCountMax == connections)
    #expect(limits.connectionsPerAddressMax == 7)
    #expect(
      ServerLimits(connectionsPerAddressMax: 7, descriptorCount: .max).connectionCountMax
        == ServerLimits().connectionCountMax)
  }

  @Test func `an IPv6 network of 64 bits has the connections of one address`() {
    #expect(ClientNetwork.of("2001:db8:0:7::1") == ClientNetwork.of("2001:db8:0:7:ffff::2"))
    #expect(ClientNetwork.of("2001:db8:0:7::1") != ClientNetwork.of("2001:db8:0:8::1"))
    #expect(ClientNetwork.of("203.0.113.7") != ClientNetwork.of("203.0.113.8"))
  }
}
