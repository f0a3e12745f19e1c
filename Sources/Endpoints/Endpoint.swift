package import Base
package import HTTPMessages
package import HTTPServer
package import Storage

/// One method of one path, in stages: plain synchronous functions that know no thread and no callback.
///
/// The order in time is the order here. Each refuses by throwing; who runs what is told at
/// `admission`. An endpoint is one of the three kinds below, by what it does with the database.
package protocol Endpoint: Sendable {
  /// What is asked, as far as the headers tell.
  associatedtype Request: Sendable
  /// What is asked, with the body.
  associatedtype Input: Sendable
  /// What the transaction found or did.
  associatedtype Answer: Sendable

  var method: String { get }
  var pattern: String { get }
  /// The longest body taken; 0 where the endpoint has none.
  var bodyByteCountMax: Int { get }

  /// Sees the headers only, and must refuse whatever headers can refuse.
  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> Request
  /// What the database is asked before a byte of the body is read, e.g. whose key it is.
  func inquire(_ request: Request) -> Inquiry?
  /// Whose turn the request takes under load.
  func lane(_ request: Request) -> Identifier?
  /// Sees the body, and must not write.
  func prepare(_ request: Request, _ body: [UInt8]) throws -> Input
  /// Has the rest done in its kind of transaction.
  func perform(_ request: Request, _ body: [UInt8], on database: Database) throws -> Step<Response>
  /// Turns what came of it into the answer, once that is durable.
  func respond(_ answer: Answer, to input: Input) throws -> Response
}

/// Reads one consistent snapshot.
package protocol ReadEndpoint: Endpoint {
  /// Whether it looks at many rows or opens files: it never runs on the HTTP worker then.
  var isLong: Bool { get }

  func read(_ reader: Reader, _ input: Input) throws -> Answer
}

/// Joins the writer's next batch.
package protocol WriteEndpoint: Endpoint {
  /// May run more than once, so it has no effect but on the database.
  func transact(_ transaction: Transaction, _ input: Input) throws -> Answer
}

/// Reads first what can be refused or answered without any lock; only then joins the writer's batch.
/// What was read may have changed by then. Its body is prepared on the pool, too.
package protocol PlannedEndpoint: Endpoint {
  associatedtype Plan: Sendable

  func plan(_ reader: Reader, _ input: Input) throws -> AnswerOrPlan<Answer, Plan>
  /// May run more than once, so it has no effect but on the database.
  func transact(_ transaction: Transaction, _ input: Input, _ plan: Plan) throws -> Answer
}

package enum AnswerOrPlan<Answer: Sendable, Plan: Sendable>: Sendable {
  case answer(Answer)
  case plan(Plan)
}

extension Endpoint {
  package func inquire(_ request: Request) -> Inquiry? { nil }

  package func route(on database: Database) -> Route {
    Route(method, pattern) { head, captures in
      try admission(head, captures, on: database)
    }
  }

  /// The stages as the server runs them: `admit` and `prepare` on the HTTP worker, unless a plan is
  /// to be made, inquiries and short reads there too where they cannot block (SQLite), everything else
  /// with the connection suspended.
  package func admission(
    _ head: RequestHead, _ captures: [Substring], on database: Database
  ) throws -> Step<Admission> {
    let request = try admit(head, captures)
    return try database.step(after: inquire(request)) {
      let body: Admission.Body =
        bodyByteCountMax == 0 ? .none : .memory(byteCountMax: bodyByteCountMax)
      return .ready(
        Admission(
          body: body, finish: { bytes in try perform(request, bytes, on: database) }))
    }
  }
}

extension ReadEndpoint {
  package func perform(
    _ request: Request, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    let input = try prepare(request, body)
    guard isLong || !database.readsInline else {
      return .ready(try respond(database.read { reader in try read(reader, input) }, to: input))
    }
    return .pending { done in
      database.submitRead(for: lane(request), { reader in try read(reader, input) }) { result in
        done(result.flatMap { answer in Result { try respond(answer, to: input) } })
      }
    }
  }
}

extension WriteEndpoint {
  package func perform(
    _ request: Request, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    let input = try prepare(request, body)
    return .pending { done in
      database.submitWrite(
        for: lane(request), { transaction in try transact(transaction, input) }
      ) { result in
        done(result.flatMap { answer in Result { try respond(answer, to: input) } })
      }
    }
  }
}

extension PlannedEndpoint {
  package func perform(
    _ request: Request, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    .pending { done in
      database.submitRead(for: lane(request)) { reader in
        let input = try prepare(request, body)
        return Planned<Self>(input: input, result: try plan(reader, input))
      } completion: { (result: Result<Planned<Self>, any Error>) in
        switch result {
        case .failure(let error): done(.failure(error))
        case .success(let planned):
          let input = planned.input
          switch planned.result {
          case .answer(let answer): done(Result { try respond(answer, to: input) })
          case .plan(let plan):
            database.submitWrite(
              for: lane(request), { transaction in try transact(transaction, input, plan) }
            ) { result in
              done(result.flatMap { answer in Result { try respond(answer, to: input) } })
            }
          }
        }
      }
    }
  }
}

/// What a request comes to, with what it was planned by.
private struct Planned<Kind: PlannedEndpoint>: Sendable {
  let input: Kind.Input
  let result: AnswerOrPlan<Kind.Answer, Kind.Plan>
}
