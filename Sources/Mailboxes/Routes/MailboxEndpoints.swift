import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `GET /v1/mailbox?after=<number>&limit=<n>`: what waits for the calling device, in the order of arrival.
struct GetMailbox: ContentsRead {
  let host: ProtocolHost
  let pattern = "/v1/mailbox"
  let isLong = true

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> SentContents {
    let caller = try Caller(reader, request.credentials, now: now)
    let (number, limit) = try request.page(
      after: "after", max: MailboxPage.limitMax, otherwise: MailboxRefusal.cursorInvalid)
    let page = try MailboxPage.read(reader, of: caller.publicKey, after: number, limit: limit)
    return SentContents(of: caller.account, page.encoded())
  }
}

/// `DELETE /v1/mailbox/{number}?error=<word>`: acknowledges a message, also one that is there no more. Takes no body.
struct DeleteMessage: SyncWrite {
  let host: ProtocolHost
  let method = "DELETE"
  let pattern = "/v1/mailbox/{number}"
  let bodyByteCountMax = 0

  typealias Done = (outcome: Outcome, hasFailed: Bool)

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Acknowledgement {
    guard let number = Int64(request.captures[0]), number > 0 else {
      throw MailboxRefusal.cursorInvalid
    }
    let error = queryFields(request.head.query).first { $0.name == "error" }?.value
    return try Acknowledgement(number: number, error: error)
  }

  func write(
    _ acknowledgement: Acknowledgement, of request: AccountRequest, in transaction: Transaction,
    now: Instant
  ) throws -> Done {
    var hasFailed = false
    let outcome = try LockedCaller.once(transaction, request.credentials, now: now) { locked in
      let caller = locked.caller
      let isTaken = try acknowledgement.perform(
        transaction, by: caller.publicKey, of: caller.account, now: now)
      hasFailed = isTaken && acknowledgement.error != nil
      return Outcome(status: 204, body: [])
    }
    return (outcome: outcome, hasFailed: hasFailed)
  }

  func respond(_ done: Done, to input: AccountInput<Acknowledgement>) -> Response {
    if done.hasFailed { MailboxMetrics.failed.add() }
    return done.outcome.response
  }
}
