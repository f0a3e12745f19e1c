internal import HTTPMessages
internal import HTTPServer

/// Who an account is to others.
extension SyncAPI {
  /// `GET /v1/directory?username=…`: another account's id and keys, by its name, its id or a key.
  var readDirectory: Route {
    read("/v1/directory") { reader, request, now in
      _ = try Caller(reader, request.credentials, now: now)
      return try Directory.answer(reader, Directory.Question(query: request.head.query))
    } respond: { json, _ in
      .json(200, json)
    }
  }
}
