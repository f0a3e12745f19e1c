import JSON
import TestDevices
import TestFiles
import Testing

/// Answers of the running API, checked against its description.
@Suite struct OpenAPIAnswerTests {
  /// Problems that need a broken machine, an hour, a race or another catalogue. Each has the form of all
  /// others.
  private static let unreached: Set = [
    "account_exists", "batch_too_costly", "busy", "chain_full", "creation_limited", "internal",
    "file_too_large", "origin_unknown", "reservation_expired", "stopping", "storage_unavailable",
    "streams_full", "timeout", "too_many_streams",
    "too_many_connections", "too_many_folder_caps",
    "too_many_refusals", "too_many_shares", "too_much_held", "too_much_replaced",
    // An upload of another program that does not let go, for five seconds.
    "upload_busy", "upload_superseded",
  ]

  @Test func `every success and every problem is described, and so is what they say`() throws {
    let stories = APIStories()
    try stories.tell()
    let exchanges = stories.exchanges.all
    let description = try #require(
      exchanges.first { $0.request.target == "/openapi.json" && $0.answer.status == 200 })
    let document = try description.answer.json

    let codes = Set(exchanges.compactMap(\.code))
    let described = Set(CodedProblem.all(in: document).map(\.code))
    #expect(described.subtracting(codes).subtracting(Self.unreached) == [])
    #expect(codes.intersection(Self.unreached) == [])
    // Only with a bucket, if the operator wants it; and a stream, which has no end.
    let unseen: Set = [
      "GET /v1/files/{id}/content 307", "GET /v1/logs/{id}/snapshot 307",
      "GET /v1/blobs/{id} 307",
      "GET /v1/updates/stream 200",
    ]
    #expect(Self.successes(document).subtracting(Self.seen(exchanges, document)) == unseen)

    guard Shell.python != nil else { return }
    let complaints = try stories.exchanges.complaints(about: description.answer.body)
    for complaint in complaints.prefix(20) { Issue.record("\(complaint)") }
  }

  @Test(.enabled(if: Shell.python != nil, "COFFER_PYTHON is not set"))
  func `an answer that is not described is noticed`() throws {
    let server = try TestServer()
    let account = try server.register().get("/v1/account")
    let request = TestDevice.Signed(
      method: "GET", target: "/v1/account", headers: [], body: [])
    let exchanges = Exchanges()
    exchanges.record(request, Answer(status: 299, headers: account.headers, body: account.body))
    exchanges.record(request, Answer(status: 200, headers: account.headers, body: Array("{}".utf8)))
    let complaints = try exchanges.complaints(about: server.fetchDescription().body)
    #expect(complaints.count == 2, "\(complaints)")
  }

  /// Every operation with each status below 400 that it declares.
  private static func successes(_ document: JSON) -> Set<String> {
    var successes: Set<String> = []
    for (path, item) in document["paths"].members ?? [] {
      for (name, operation) in item.members ?? [] {
        for (status, _) in operation["responses"].members ?? [] where status < "400" {
          successes.insert("\(name.uppercased()) \(path) \(status)")
        }
      }
    }
    return successes
  }

  private static func seen(_ exchanges: [Exchanges.Exchange], _ document: JSON) -> Set<String> {
    let paths = (document["paths"].members ?? []).map(\.name)
    return Set(
      exchanges.compactMap { exchange in
        let target = exchange.request.target.prefix { $0 != "?" }
        guard let path = paths.first(where: { $0 == target || matches($0, target) }) else {
          return nil
        }
        return "\(exchange.request.method) \(path) \(exchange.answer.status)"
      })
  }

  private static func matches(_ pattern: String, _ path: Substring) -> Bool {
    let (parts, segments) = (pattern.split(separator: "/"), path.split(separator: "/"))
    return parts.count == segments.count
      && zip(parts, segments).allSatisfy { $0.hasPrefix("{") || $0 == $1 }
  }
}
