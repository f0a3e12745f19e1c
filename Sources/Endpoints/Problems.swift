import Base
package import HTTPMessages
import Objects
import Storage

/// An error that defines its own response.
package protocol AnswerableError: Error {
  var problem: Problem { get }
}

/// Turns any error of a handler into the response. A storage failure is 503, so that a payment provider or a client
/// tries again. An unknown error is a bug of Coffer: 500, with its text only in the log, under the request's id.
package func problem(for error: any Error, _ head: RequestHead) -> Problem {
  if let problem = error as? Problem { return problem }
  if let error = error as? any AnswerableError { return error.problem }
  switch error as? ObjectStoreError {
  case .unavailable(let reason), .misconfigured(let reason):
    return storageUnavailable(reason, head)
  case .alreadyExists, .busy, .incomplete, nil: break
  }
  switch error as? DatabaseError {
  case .busy(let seconds):
    return Problem(
      503, "busy", "The server is busy",
      "Too many writes are waiting. Nothing was changed; try again shortly.",
      retryAfterSeconds: seconds)
  case .unavailable(let reason), .uncertain(let reason), .forbidden(let reason):
    return storageUnavailable(reason, head)
  default:
    Log.error("request.failed", ["request": head.requestID, "error": String(reflecting: error)])
    return Problem(
      500, "internal", "Internal error",
      "The server failed. The log has the reason under the request id.")
  }
}

private func storageUnavailable(_ reason: String, _ head: RequestHead) -> Problem {
  Log.error("storage.unavailable", ["request": head.requestID, "reason": reason])
  return Problem(
    503, "storage_unavailable", "Storage is unavailable",
    "The server cannot store or read at the moment. A change may have been stored all the same; try again shortly.",
    retryAfterSeconds: 5)
}
