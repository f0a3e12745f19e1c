package import Base
package import HTTPMessages
package import HTTPServer
package import Storage

/// One method of one path, as plain synchronous functions that know no thread, callback or status.
///
/// `admit` sees the headers only and must refuse whatever headers can refuse; `inquire` says what the
/// database is asked before a byte of the body is read, e.g. whose key it is; `prepare` sees the body
/// and must not write; `work` runs inside the storage transaction and may run more than once, so it
/// must have no other effect; `respond` turns its output into the answer. Each refuses by throwing a
/// `Problem`. The order in time is the order here; see `route(on:)` for who runs what.
package struct Endpoint<Admitted: Sendable, Input: Sendable, Output: Sendable>: Sendable {
  package typealias Admit = @Sendable (RequestHead, [Substring]) throws -> Admitted
  package typealias Inquire = @Sendable (Admitted) -> Inquiry?
  package typealias Prepare = @Sendable (Admitted, [UInt8]) throws -> Input

  package enum Work: Sendable {
    /// Reads one consistent snapshot. What `isLong` never runs on the HTTP worker; `share` names whose
    /// turn it is under load.
    case read(
      share: @Sendable (Input) -> Identifier?, isLong: Bool,
      @Sendable (Reader, Input) throws -> Output)
    /// Joins the writer's next batch; `share` names whose turn it is under load.
    case write(
      share: @Sendable (Input) -> Identifier?, @Sendable (Transaction, Input) throws -> Output)
    /// Reads first what can be refused or answered without any lock, on the pool; only then joins the
    /// writer's batch. What was read may have changed by then. Its body is prepared on the pool, too.
    case decidedWrite(
      share: @Sendable (Admitted) -> Identifier?, @Sendable (Reader, Input) throws -> Decision)
  }

  package enum Decision: Sendable {
    case done(Output)
    case write(@Sendable (Transaction) throws -> Output)
  }

  private let method: String
  private let pattern: String
  /// The longest body taken; 0 where the endpoint has none.
  private let bodyByteCountMax: Int
  private let admit: Admit
  private let inquire: Inquire
  private let prepare: Prepare
  private let work: Work
  private let respond: @Sendable (Output) throws -> Response

  package init(
    _ method: String, _ pattern: String, bodyByteCountMax: Int, admit: @escaping Admit,
    inquire: @escaping Inquire = { _ in nil }, prepare: @escaping Prepare, work: Work,
    respond: @escaping @Sendable (Output) throws -> Response
  ) {
    self.method = method
    self.pattern = pattern
    self.bodyByteCountMax = bodyByteCountMax
    self.admit = admit
    self.inquire = inquire
    self.prepare = prepare
    self.work = work
    self.respond = respond
  }

  package func route(on database: Database) -> Route {
    Route(method, pattern) { head, captures in
      try admission(head, captures, on: database)
    }
  }

  /// The stages as the server runs them: `admit` and `prepare` on the HTTP worker, unless a decision is
  /// to be read, inquiries and short reads there too where they cannot block (SQLite), everything else
  /// with the connection suspended.
  package func admission(
    _ head: RequestHead, _ captures: [Substring], on database: Database
  ) throws -> Step<Admission> {
    let admitted = try admit(head, captures)
    return try database.step(after: inquire(admitted)) {
      let body: Admission.Body =
        bodyByteCountMax == 0 ? .none : .memory(byteCountMax: bodyByteCountMax)
      return .ready(
        Admission(
          body: body,
          finish: { bytes in try perform(admitted, bytes, on: database) }, abandon: nil))
    }
  }

  private func perform(
    _ admitted: Admitted, _ bytes: [UInt8], on database: Database
  ) throws -> Step<Response> {
    let (prepare, respond) = (self.prepare, self.respond)
    switch work {
    case .read(_, let isLong, let read) where database.readsInline && !isLong:
      let input = try prepare(admitted, bytes)
      return .ready(try respond(database.read { reader in try read(reader, input) }))
    case .read(let share, _, let read):
      let input = try prepare(admitted, bytes)
      return .pending { done in
        database.submitRead(for: share(input), { reader in try read(reader, input) }) { result in
          done(result.flatMap { output in Result { try respond(output) } })
        }
      }
    case .write(let share, let write):
      let input = try prepare(admitted, bytes)
      return .pending { done in
        database.submitWrite(for: share(input), { transaction in try write(transaction, input) }) {
          result in done(result.flatMap { output in Result { try respond(output) } })
        }
      }
    case .decidedWrite(let share, let decide):
      return .pending { done in
        database.submitRead(for: share(admitted)) { reader in
          try decide(reader, prepare(admitted, bytes))
        } completion: { decision in
          switch decision {
          case .success(.done(let output)): done(Result { try respond(output) })
          case .success(.write(let write)):
            database.submitWrite(for: share(admitted), write) { result in
              done(result.flatMap { output in Result { try respond(output) } })
            }
          case .failure(let error): done(.failure(error))
          }
        }
      }
    }
  }
}
