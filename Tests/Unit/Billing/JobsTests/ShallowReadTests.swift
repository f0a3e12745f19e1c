import Base
import Jobs
import Storage
import TestEngines
import Testing

/// Reads that may leave out what was compared just now, unless someone asks for a whole read.
@Suite struct ShallowReadTests {
  @Test(arguments: TestEngine.available)
  func `a read is shallow while all who ask for it are content with that`(
    engine: TestEngine
  ) throws {
    let queue = try Queue(engine)
    try queue.request(isShallow: true)
    try queue.request(isShallow: true)
    let lease = try queue.lease()
    #expect(lease.isShallow)
    try queue.commit(lease)
    try queue.request()
    #expect(try !queue.lease().isShallow)
  }

  @Test(arguments: [true, false])
  func `who wants a whole read gets one, whoever asked first`(isFirst: Bool) throws {
    let queue = try Queue(.sqlite)
    try queue.request(isShallow: !isFirst)
    try queue.request(isShallow: isFirst)
    #expect(try !queue.lease().isShallow)
  }

  @Test func `who asks during a shallow read gets a whole one`() throws {
    let queue = try Queue(.sqlite)
    try queue.request(isShallow: true)
    let lease = try queue.lease()
    try queue.request()
    try queue.commit(lease)
    queue.pass(.minutes(1))
    #expect(try !queue.lease().isShallow)
  }

  @Test func `a shallow read that fails is tried again as one, and an operator's is whole`() throws
  {
    let queue = try Queue(.sqlite)
    try queue.request(isShallow: true)
    try queue.retry(queue.lease(), .transient("away", retryAfter: nil))
    queue.pass(.hours(1))
    let again = try queue.lease()
    #expect(again.isShallow)
    try queue.retry(again, .transient("away", retryAfter: nil))
    try queue.revive()
    #expect(try !queue.lease().isShallow)
  }
}
