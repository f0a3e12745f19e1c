import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// What a push did, and what of it was received.
struct Pushed: Sendable {
  let outcome: Outcome
  let account: Identifier
  var receivedByteCount: Int64 = 0
  var storedCount = 0
}

/// `POST /v1/documents`: stores versions of documents, all or none.
///
/// The batch is judged in a snapshot, so a refused one locks no rows.
struct PostDocuments: AccountEndpoint, PlannedEndpoint {
  let host: ProtocolHost
  var gate: RequestGate { host.gate }
  let method = "POST"
  let pattern = "/v1/documents"
  let bodyByteCountMax = DocumentBatch.bodyByteCountMax

  struct Input: Sendable {
    let request: AccountRequest
    let batch: DocumentBatch

    var credentials: Credentials { request.credentials }
  }

  func prepare(_ request: AccountRequest, _ body: [UInt8]) throws -> Input {
    let body = try request.checked(body)
    // Charged before the signatures are checked, because those of a refused batch are checked, too.
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return Input(
      request: request,
      batch: try DocumentBatch(body, counting: host.gate.authenticator.signatures))
  }

  func plan(_ reader: Reader, _ input: Input) throws -> AnswerOrPlan<Pushed, PushPlan> {
    defer { input.credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    let caller = try Caller(reader, input.credentials, now: host.clock.now())
    if let recorded = try Nonces.recorded(reader, input.credentials) {
      return .answer(Pushed(outcome: recorded, account: caller.account))
    }
    return .plan(try PushPlan(input.batch, by: caller, reader))
  }

  func transact(
    _ transaction: Transaction, _ input: Input, _ plan: PushPlan
  ) throws -> Pushed {
    defer { input.credentials.meter.charge(Price.rows(transaction.work.rowCount), for: .writing) }
    let now = host.clock.now()
    var locked = try LockedCaller(transaction, input.credentials, now: now) { caller in
      try Deliveries.reached(input.batch.receivers, by: caller, transaction)
    }
    let caller = locked.caller
    var receivedByteCount: Int64 = 0
    var storedCount = 0
    let outcome = try Nonces.once(transaction, input.credentials) {
      var plan = plan
      if locked.owners.numbers != plan.numbers {
        plan = try PushPlan(input.batch, by: caller, transaction)
      }
      if !plan.onlyDeletes {
        try locked.owners.requireWritable(
          [caller.account] + plan.deliveries.written, by: caller, transaction)
      }
      try DocumentWrite(host: host, transaction: transaction, account: caller.account, now: now)
        .write(plan, &locked.owners)
      receivedByteCount = plan.receivedByteCount
      storedCount = plan.fresh.count
      return Outcome(200, plan.json)
    }
    return Pushed(
      outcome: outcome, account: caller.account, receivedByteCount: receivedByteCount,
      storedCount: storedCount)
  }

  /// Counted once the write is durable, because a transaction may run more than once.
  func respond(_ pushed: Pushed, to input: Input) -> Response {
    host.transfers.received(pushed.receivedByteCount, of: pushed.account)
    DocumentMetrics.stored.add(Int64(pushed.storedCount))
    return pushed.outcome.response
  }

  func refused(_ error: any Error) {
    if let refusal = error as? DocumentRefusal { DocumentMetrics.count(refusal) }
  }
}

extension PushPlan {
  fileprivate var receivedByteCount: Int64 {
    fresh.reduce(0) { $0 + Int64($1.version.content?.body.count ?? 0) }
  }

  fileprivate var json: JSONValue {
    [
      "counter": .integer(highest), "stored": .integer(Int64(fresh.count)),
      "repeated": .integer(Int64(repeatedCount)),
      "deleted": .array(deleted.sorted().map { .string($0.description) }),
    ]
  }
}
