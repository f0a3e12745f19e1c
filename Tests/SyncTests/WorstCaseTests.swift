import Base
import Storage
import Sync
import TestDevices
import TestEngines
import Testing

/// What the dearest requests cost the server: statements and rows while locks are held, and
/// signatures checked; counted, not timed.
@Suite struct WorstCaseTests {
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
