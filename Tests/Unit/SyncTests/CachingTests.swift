import Base
import TestDevices
import Testing

/// A signed request has no Authorization field, so RFC 9111 would let shared caches keep its answer.
@Suite struct CachingTests {
  @Test func `no cache may keep what an account is answered, granted or refused`() throws {
    let server = try TestServer()
    let device = try server.register()
    let id = try device.add()
    let written = try device.put(id, [1, 2, 3], ifMatch: "*")
    let tag = try #require(written.header("ETag"))
    let stranger = server.device()
    let answers = [
      written,
      try device.get("/v1/account"),
      try device.get("/v1/updates"),
      try device.get("/v1/files/\(id)"),
      try device.get("/v1/files/\(id)/content"),
      try device.get("/v1/files/\(id)/content", headers: [("Range", "bytes=0-1")]),
      try device.get("/v1/files/\(id)/content", headers: [("If-None-Match", tag)]),
      try device.get("/v1/files/\(Identifier(high: 1, low: 1))"),
      try device.get("/v1/updates?limit=0"),
      try device.send(device.sign("POST", "/v1/sessions")),
      try stranger.get("/v1/account"),
      try device.send(
        .init(
          method: "GET", target: "/v1/account", headers: [("Host", TestServer.authority)], body: [])
      ),
    ]
    #expect(answers.map(\.status) == [200, 200, 200, 200, 200, 206, 304, 404, 400, 201, 401, 401])
    for answer in answers {
      #expect(answer.header("Cache-Control") == "private, no-store", "\(answer.status)")
    }
  }
}
