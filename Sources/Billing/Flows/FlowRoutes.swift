import Base
package import Crypto
import Endpoints
import HTTPMessages
package import HTTPServer
import JSON
package import Requests
package import Storage

extension Flows {
  /// The endpoints for the accounts' clients.
  package func routes(
    on database: Database, through gate: RequestGate, sealing: SealingKeys
  ) -> [Route] {
    let operations = Intention.Kind.allCases.map { kind in
      BeginFlow(kind: kind, flows: self, gate: gate, sealing: sealing).route(on: database)
    }
    let changes = [ChangeFlow.Change.goOn, .giveUp].map { change in
      ChangeFlow(change: change, flows: self, gate: gate, sealing: sealing).route(on: database)
    }
    return operations + changes
      + [GetFlow(flows: self, gate: gate, sealing: sealing).route(on: database)]
  }
}

struct GetFlow: AccountRead {
  let flows: Flows
  let gate: RequestGate
  let sealing: SealingKeys
  let pattern = "/v1/flows/{id}"

  func answer(_ request: AccountRequest, _ reader: Reader, now: Instant) throws -> Flow {
    let caller = try Caller(reader, request.credentials, now: now)
    return try flows.find(request.flow(), of: caller.account, reading: reader)
  }

  func respond(_ flow: Flow, to request: AccountRequest) -> Response {
    .json(200, flow.answer(sealing))
  }
}

/// `POST /v1/flows/{id}/continue`, after the client has done its part, and `DELETE /v1/flows/{id}`,
/// if it will not do it.
struct ChangeFlow: AccountWrite {
  enum Change: Sendable { case goOn, giveUp }

  let change: Change
  let flows: Flows
  let gate: RequestGate
  let sealing: SealingKeys

  var method: String { change == .goOn ? "POST" : "DELETE" }
  var pattern: String { change == .goOn ? "/v1/flows/{id}/continue" : "/v1/flows/{id}" }
  let bodyByteCountMax = 0

  func parse(_ body: [UInt8], of request: AccountRequest) throws -> Identifier {
    try request.flow()
  }

  func write(
    _ id: Identifier, of request: AccountRequest, in transaction: Transaction, now: Instant
  ) throws -> Flow {
    let account = try Caller(transaction, request.credentials, now: now).account
    let trace = request.head.trace
    switch change {
    case .goOn:
      return try flows.continue(id, of: account, trace: trace, at: now, in: transaction)
    case .giveUp: return try flows.giveUp(id, of: account, trace: trace, at: now, in: transaction)
    }
  }

  func respond(_ flow: Flow, to input: AccountInput<Identifier>) throws -> Response {
    .json(flow.isOpen ? 202 : 200, flow.answer(sealing))
  }
}

extension AccountRequest {
  fileprivate func flow() throws(FlowProblem) -> Identifier {
    guard let id = Identifier(captures[0]) else { throw FlowProblem(.flowUnknown) }
    return id
  }
}

extension Flow {
  func answer(_ sealing: SealingKeys) -> JSONValue {
    [
      "flow": .string(id.description), "kind": .string(intention.kind.rawValue),
      "status": .string(status.rawValue), "asked": intention.json,
      "action": action(sealing)?.json ?? .null, "problem": problem.map(\.answer) ?? .null,
      "created": .string(created.description), "since": .string(stepSince.description),
      "closed": closed.map { .string($0.description) } ?? .null,
    ]
  }
}

extension FlowProblem {
  /// The problem in the form of RFC 9457, as a part of another answer.
  fileprivate var answer: JSONValue {
    let problem = problem
    return .object(
      [
        .init("type", .string("urn:coffer:problem:" + problem.code)),
        .init("title", .string(problem.title)), .init("status", .integer(Int64(problem.status))),
        .init("detail", .string(problem.detail)),
      ] + problem.members)
  }
}
