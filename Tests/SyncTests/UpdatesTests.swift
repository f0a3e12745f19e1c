import Base
import Crypto
import JSON
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

@Suite struct UpdatesTests {
  /// Pulls page after page and returns the last known state of each file.
  private func pull(
    _ device: TestDevice, since: String?, limit: Int
  ) throws -> (files: [String: Int64], cursor: String) {
    var files: [String: Int64] = [:]
    var cursor = since
    while true {
      let query = cursor.map { "?since=\($0)&limit=\(limit)" } ?? "?limit=\(limit)"
      let page = try device.get("/v1/updates\(query)").json
      for change in page["changes"].array ?? [] {
        let file = change["file"]
        files[file["id"].string ?? ""] = file["version"].integer
      }
      cursor = page["cursor"].string
      guard page["more"].bool == true else { return (files, cursor ?? "") }
    }
  }

  @Test(arguments: TestEngine.available, [1, 3, 1000])
  func `every change is seen once, in pages of any size`(engine: TestEngine, limit: Int) throws {
    let server = try TestServer(engine)
    let device = try server.register()
    var ids: Set<String> = [device.root.description]
    for _ in 0..<5 { ids.insert(try device.create().id.description) }
    let first = try pull(device, since: nil, limit: limit)
    #expect(Set(first.files.keys) == ids)
    let (changed, _) = try device.create()
    _ = try device.put(changed, [1, 2, 3], ifMatch: "\"0\"")
    let second = try pull(device, since: first.cursor, limit: limit)
    #expect(Array(second.files.keys) == [changed.description])
    let third = try pull(device, since: second.cursor, limit: limit)
    #expect(third.files.isEmpty)
  }

  @Test(arguments: ["x", "AAAA", ""])
  func `a cursor that is none of ours is refused`(cursor: String) throws {
    let server = try TestServer()
    let device = try server.register()
    let answer = try device.get("/v1/updates?since=\(cursor)")
    #expect(answer.status == 400)
    #expect(try answer.problem == "cursor_invalid")
  }

  @Test func `another account's cursor is refused`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let bob = try server.register()
    let cursor = try alice.get("/v1/updates").json["cursor"].string ?? ""
    #expect(try bob.get("/v1/updates?since=\(cursor)").problem == "cursor_invalid")
  }

  @Test func `after a restore every client starts over`() throws {
    let server = try TestServer()
    let device = try server.register()
    let cursor = try device.get("/v1/updates").json["cursor"].string ?? ""
    try server.database.write(for: nil) { transaction in
      _ = try transaction.execute(
        "UPDATE sync.history SET history_id = $1 WHERE id = 1", .id(Random.identifier()))
    }
    let answer = try device.get("/v1/updates?since=\(cursor)")
    #expect(answer.status == 410)
    #expect(try answer.problem == "history_changed")
  }

  @Test(arguments: ["0", "1001", "-1", "x", ""])
  func `a page size outside its range is refused`(limit: String) throws {
    let server = try TestServer()
    let device = try server.register()
    #expect(try device.get("/v1/updates?limit=\(limit)").problem == "limit_invalid")
  }
}
