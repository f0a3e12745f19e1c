package import Base
package import HTTPMessages
package import HTTPServer
package import Storage

/// One method of one path, in stages: plain synchronous functions without threads or callbacks. They run in this
/// order, where `admission` states. Each refuses by throwing. There are three kinds, by use of the database.
package protocol Endpoint: Sendable {
  /// The request, as far as the headers show it.
  associatedtype Request: Sendable
  /// The request with its body.
  associatedtype Input: Sendable
  /// The result of the transaction.
  associatedtype Answer: Sendable

  var method: String { get }
  var pattern: String { get }
  /// The longest body that is accepted; 0 if the endpoint has none.
  var bodyByteCountMax: Int { get }

  /// Sees only the headers, and must refuse whatever headers can refuse.
  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> Request
  /// The inquiry to the database before a byte of the body is read, e.g. whose key it is.
  func inquire(_ request: Request) -> Inquiry?
  /// The lane in which the request takes its turn under load.
  func lane(_ request: Request) -> Identifier?
  /// Sees the body, and must not write.
  func prepare(_ request: Request, _ body: [UInt8]) throws -> Input
  /// Does the rest in its kind of transaction.
  func perform(_ request: Request, _ body: [UInt8], on database: Database) throws -> Step<Response>
  /// Turns the result into the response, once it is durable.
  func respond(_ answer: Answer, to input: Input) throws -> Response
  /// Counts, if it likes, what the write or its plan threw. Called once for a request, when nothing more is tried.
  func refused(_ error: any Error)
}

/// An endpoint that reads one consistent snapshot.
package protocol ReadEndpoint: Endpoint {
  /// Whether it reads many rows. Then it never runs on the HTTP worker.
  var isLong: Bool { get }

  func read(_ reader: Reader, _ input: Input) throws -> Answer
}

/// An endpoint that joins the writer's next batch.
package protocol WriteEndpoint: Endpoint {
  /// May run more than once, so it must have no effect except on the database.
  func transact(_ transaction: Transaction, _ input: Input) throws -> Answer
}

/// An endpoint that first reads, without a lock, what can be refused or answered, and then joins the writer's batch.
/// What was read may have changed by then. Its body is prepared on the pool.
package protocol PlannedEndpoint: Endpoint {
  associatedtype Plan: Sendable

  func plan(_ reader: Reader, _ input: Input) throws -> AnswerOrPlan<Answer, Plan>
  /// May run more than once, so it must have no effect except on the database.
  func transact(_ transaction: Transaction, _ input: Input, _ plan: Plan) throws -> Answer
}

package enum AnswerOrPlan<Answer: Sendable, Plan: Sendable>: Sendable {
  case answer(Answer)
  case plan(Plan)
}

extension Endpoint {
  package func inquire(_ request: Request) -> Inquiry? { nil }

  package func refused(_ error: any Error) {}

  package func route(on database: Database) -> Route {
    Route(method, pattern) { head, captures in
      try admission(head, captures, on: database)
    }
  }

  fileprivate func write(
    _ request: Request, _ input: Input, on database: Database,
    _ done: @escaping @Sendable (Result<Response, any Error>) -> Void,
    _ transact: @escaping @Sendable (Transaction) throws -> Answer
  ) {
    database.submitWrite(for: lane(request), transact) { result in
      if case .failure(let error) = result { refused(error) }
      done(result.flatMap { answer in Result { try respond(answer, to: input) } })
    }
  }

  /// Runs `admit` on the HTTP worker, and `prepare` unless there is a plan; inquiries and short reads, too, if they
  /// cannot block (SQLite). Everything else runs with the connection suspended.
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
      write(request, input, on: database, done) { try transact($0, input) }
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
        return (input, try plan(reader, input))
      } completion: { (result: Result<(Input, AnswerOrPlan<Answer, Plan>), any Error>) in
        switch result {
        case .failure(let error):
          refused(error)
          done(.failure(error))
        case .success((let input, .answer(let answer))):
          done(Result { try respond(answer, to: input) })
        case .success((let input, .plan(let plan))):
          write(request, input, on: database, done) { try transact($0, input, plan) }
        }
      }
    }
  }
}
