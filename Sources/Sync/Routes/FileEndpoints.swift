import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import HTTPSignatures
import JSON
import Requests
import Storage

/// `GET /v1/files/{id}`: the record of one file.
struct GetFile: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/files/{id}"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> JSONValue {
    let caller = try Caller(reader, request.credentials, now: now)
    var tree = AncestorTree(seenBy: caller.account)
    let file = try tree.file(request.identifier(0), reader)
    return file.json(shares: try Share.of(file, visibleTo: caller.account, reader))
  }
}

/// `POST /v1/files`: changes files and shares, all or none. The batch is judged in a snapshot, so a refused one locks
/// no rows. `WorkBudget` bounds its cost.
struct PostFiles: AccountEndpoint, PlannedEndpoint {
  let host: ProtocolHost
  var gate: RequestGate { host.gate }
  let method = "POST"
  let pattern = "/v1/files"
  let bodyByteCountMax = Batch.bodyByteCountMax

  struct Input: Sendable {
    let request: AccountRequest
    let execution: BatchExecution

    var meter: RequestMeter { request.credentials.meter }
  }

  func prepare(_ request: AccountRequest, _ body: [UInt8]) throws -> Input {
    let body = try request.checked(body)
    // Charged before the signatures are checked, because those of a refused batch are checked, too.
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    let batch = try Batch(body, counting: host.gate.authenticator.signatures)
    return Input(
      request: request,
      execution: BatchExecution(
        credentials: request.credentials, batch: batch, catalogue: host.catalogue,
        limits: host.limits))
  }

  func plan(_ reader: Reader, _ input: Input) throws -> AnswerOrPlan<Outcome, BatchPlan> {
    // A refused batch has cost as much as an accepted one.
    defer { input.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    return try input.execution.plan(reader, now: host.clock.now())
  }

  func transact(
    _ transaction: Transaction, _ input: Input, _ plan: BatchPlan
  ) throws -> Outcome {
    defer { input.meter.charge(Price.rows(transaction.work.rowCount), for: .writing) }
    return try input.execution.perform(transaction, plan, now: host.clock.now())
  }

  func respond(_ outcome: Outcome, to input: Input) -> Response { outcome.response }
}

/// `GET /v1/updates?since=<cursor>&limit=<n>`: the changes since the cursor.
struct GetUpdates: SyncRead {
  let host: ProtocolHost
  let pattern = "/v1/updates"
  let isLong = true

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Updates.Page {
    let question = try Updates.Question(request.credentials, query: request.head.query)
    return try Updates.page(reader, question, limits: host.limits, now: now)
  }

  func respond(_ page: Updates.Page, to request: AccountRequest) -> Response {
    Response(
      status: 200, headers: [("Content-Type", "application/json")], body: .bytes(page.encoded()))
  }
}
