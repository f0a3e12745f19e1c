import Endpoints
import HTTPMessages
import Storage
import Testing

/// What callers are told when the database fails.
struct StorageProblemTests {
  /// A commit whose end was not seen may have happened.
  @Test(arguments: [DatabaseError.unavailable(reason: "lost"), .uncertain(reason: "lost")])
  func `nobody is told that nothing was changed`(error: DatabaseError) {
    let head = RequestHead(
      method: "PUT", target: "/v1/plan", headers: Headers(), authority: "billing")
    #expect(!problem(for: error, head).detail.contains("Nothing was changed"))
  }
}
