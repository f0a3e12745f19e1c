import DescribedAPI
import Testing

/// The examples of docs/sync-api.md.
extension GuideExample {
  /// The requests in the order of their examples.
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

  static func all() throws -> [GuideExample] { try all(of: "sync-api", in: order) }

  /// The first example of a request.
  static func first(_ request: String) throws -> GuideExample {
    let all = try Self.all()
    return try #require(all.first { $0.request == request }, "\(request)")
  }
}
