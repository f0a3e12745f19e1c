import JSON
import TestFiles
import Testing

/// A request of docs/sync-api.md, with the JSON examples of its body and of its answer.
struct GuideExample {
  /// The method and the target, such as `GET /v1/account`.
  let request: String
  let status: Int
  /// The names of the fields that the answer has besides those of every answer.
  let fields: [String]
  /// Nil if the guide shows no body of the request.
  let body: JSON?
  /// Nil if the answer has no body.
  let answer: JSON?

  var method: String { String(request.prefix { $0 != " " }) }
  var target: String { String(request.drop { $0 != " " }.dropFirst()) }

  /// The requests in the order of their examples. That of a body comes before that of the answer, and 204 has none.
  private static let order = """
    POST /v1/accounts location 201
    PUT /v1/files/id/content etag 200
    GET /v1/account 200
    DELETE /v1/account 202
    GET /v1/account/deletion 200
    POST /v1/sessions 201
    GET /v1/sessions 200
    POST /v1/app-passwords body 201
    GET /v1/app-passwords 200
    GET /v1/blocks 200
    PUT /v1/push body 204
    POST /v1/devices body 201
    POST /v1/revocations body 204
    GET /v1/directory?username=ada 200
    POST /v1/files body 200
    POST /v1/files 422
    GET /v1/updates 200
    GET /v1/files/id 200
    GET /v1/files/id/versions 200
    POST /v1/files/id/restore body etag 200
    GET /v1/trash 200
    POST /v1/trash/id/restore body 200
    POST /v1/logs body 201
    PUT /v1/logs/id/key body 200
    POST /v1/logs/id/messages body 200
    GET /v1/logs/id/messages 200
    GET /v1/logs/id 200
    GET /v1/logs/id/messages?since=2026-11-20T08:30:15.250Z-00FF-fedcba9876543210 200
    GET /v1/logs/id/trie?path=200 200
    PUT /v1/logs/id/snapshot?covers=cursor etag 200
    POST /v1/logs/id/epochs body 201
    PUT /v1/logs/id/shares/account body 200
    GET /v1/logs 200
    PUT /v1/logs/id/shares/account body 200
    GET /v1/logs/id/shares 200
    POST /v1/documents body 200
    POST /v1/documents/pull body 200
    PUT /v1/blobs/id etag 200
    GET /v1/documents/id/versions 200
    POST /v1/key-packages body 200
    POST /v1/devices/key/key-packages/claim 200
    POST /v1/chains body 201
    POST /v1/chains/id/blocks body 200
    GET /v1/chains 200
    GET /v1/chains/id 200
    GET /v1/chains/id/blocks?since=0 200
    POST /v1/chains/id/commits body 200
    POST /v1/chains/id/messages body 200
    PUT /v1/recovery-key body 200
    PUT /v1/key-backup etag 200
    POST /v1/recovery body 201
    GET /v1/recovery 200
    PUT /v1/public/id etag 201
    GET /v1/public 200
    POST /v1/public/id/token 201
    PUT /v1/files/id/cap body 200
    """

  /// All examples of the guide, in their order.
  static func all() throws -> [GuideExample] {
    let guide = try #require(Files.text("\(Files.repository)/docs/sync-api.md"))
    let blocks = try guide.matches(of: #/\n```json\n([^`]+)\n```/#).map {
      try JSON.parse(Array($0.1.utf8))
    }
    var rest = blocks[...]
    var all: [GuideExample] = []
    for line in order.split(separator: "\n") {
      let words = line.split(separator: " ").map { String($0) }
      let status = Int(words[words.count - 1]) ?? 0
      let body = words.contains("body") ? rest.popFirst() : nil
      let answer = status == 204 ? nil : rest.popFirst()
      all.append(
        GuideExample(
          request: "\(words[0]) \(words[1])", status: status,
          fields: words.filter { $0 == "etag" || $0 == "location" }, body: body, answer: answer))
    }
    let isComplete = rest.isEmpty && all.allSatisfy { $0.status == 204 || $0.answer != nil }
    try #require(isComplete, "the guide has other examples than this order")
    return all
  }

  /// The first example of a request.
  static func first(_ request: String) throws -> GuideExample {
    let all = try Self.all()
    return try #require(all.first { $0.request == request }, "\(request)")
  }
}
