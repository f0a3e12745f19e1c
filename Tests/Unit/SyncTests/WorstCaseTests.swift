import Base
import JSON
import Requests
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// The cost of the most expensive requests: statements and rows while locks are held, and signatures checked;
/// counted, not timed.
@Suite struct WorstCaseTests {
  @Test(arguments: TestEngine.available)
  func `a page tells no more than 1,024 shares, and the pages together all of them`(
    engine: TestEngine
  ) throws {
    let server = try TestServer(engine)
    let alice = try server.register()
    let files = try (0..<5).map { _ in try alice.add() }
    for file in files { try server.plantShares(of: file, count: 1000) }
    var (cursor, told): (String?, [Identifier: Int]) = (nil, [:])
    var hasMore = true
    while hasMore {
      let before = server.database.readWork
      let page = try alice.updates(since: cursor, limit: 1000).json
      // The shares, and a few other rows.
      #expect((server.database.readWork - before).returnedRowCount <= 1025 + 100)
      for change in page["changes"].array ?? [] {
        let file = try #require(change["file"]["id"].identifier)
        told[file] = change["file"]["shares"].array?.count
      }
      (cursor, hasMore) = (page["cursor"].string, page["more"].bool ?? false)
    }
    #expect(files.allSatisfy { told[$0] == 1000 })
  }

  @Test func `each signature of a batch is checked once, and the request's`() throws {
    let server = try TestServer()
    let alice = try server.register()
    let files = try alice.chain(5)
    let before = (server.api.signatures.requestCount, server.api.signatures.statementCount)
    try alice.batch(files: files).requireSuccess()
    #expect(server.api.signatures.requestCount - before.0 == 1)
    #expect(server.api.signatures.statementCount - before.1 == 5)
  }
}
