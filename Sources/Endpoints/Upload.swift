package import Base
package import HTTPMessages
package import HTTPServer
package import Storage

/// An endpoint whose body is too large for memory: it is reserved, streamed to an object, committed.
///
/// `inquire` asks the database before anything is written, as an endpoint's does.
/// `reserve` runs in a transaction of its own before the first body byte, so that a client that may
/// not or cannot store the body hears so without sending it. It answers nil while the request has to
/// wait for another one, and is then asked again by and by; at last it is told that it must decide.
/// `receive` opens where the bytes go.
/// `settle` runs on a pool that may block (it compares the digest and makes the object durable).
/// `transact` makes the object visible and consumes the reservation, in one transaction. After any
/// failure `release` gives back what was reserved; what a crash leaves is the next start's to settle.
package struct Upload<Admitted: Sendable, Reserved: Sendable, Sink: BodySink, Output: Sendable>:
  Sendable
{
  /// How long a request waits for another one: shorter than clients wait for an answer.
  private static var patience: Instant.Span { .seconds(5) }

  private let byteCountMax: Int64
  private let admit: @Sendable (RequestHead, [Substring]) throws -> Admitted
  private let inquire: @Sendable (Admitted) -> Inquiry?
  private let share: @Sendable (Admitted) -> Identifier?
  private let reserve: @Sendable (Transaction, Admitted, _ isLast: Bool) throws -> Reserved?
  private let receive: @Sendable (Reserved) throws -> Sink
  private let settle: @Sendable (Reserved, Sink) throws -> Void
  private let transact: @Sendable (Transaction, Reserved) throws -> Output
  private let release: @Sendable (Transaction, Reserved) throws -> Void
  private let respond: @Sendable (Output) throws -> Response

  package init(
    byteCountMax: Int64,
    admit: @escaping @Sendable (RequestHead, [Substring]) throws -> Admitted,
    inquire: @escaping @Sendable (Admitted) -> Inquiry?,
    share: @escaping @Sendable (Admitted) -> Identifier?,
    reserve: @escaping @Sendable (Transaction, Admitted, _ isLast: Bool) throws -> Reserved?,
    receive: @escaping @Sendable (Reserved) throws -> Sink,
    settle: @escaping @Sendable (Reserved, Sink) throws -> Void,
    transact: @escaping @Sendable (Transaction, Reserved) throws -> Output,
    release: @escaping @Sendable (Transaction, Reserved) throws -> Void,
    respond: @escaping @Sendable (Output) throws -> Response
  ) {
    self.byteCountMax = byteCountMax
    self.admit = admit
    self.inquire = inquire
    self.share = share
    self.reserve = reserve
    self.receive = receive
    self.settle = settle
    self.transact = transact
    self.release = release
    self.respond = respond
  }

  /// `pool` runs what may block, `later` asks again for those that wait.
  package func admission(
    _ head: RequestHead, _ captures: [Substring], on database: Database, pool: WorkPool,
    later: Later
  ) throws -> Step<Admission> {
    let admitted = try admit(head, captures)
    return try database.step(after: inquire(admitted)) {
      .pending { done in
        ask(
          admitted, until: .now() + Self.patience, on: database, later: later,
          done: { result in
            done(
              result.flatMap { reserved in
                Result { try reception(admitted, reserved, on: database, pool: pool) }
              })
          })
      }
    }
  }

  /// Waiting costs no thread but a transaction each time.
  private func ask(
    _ admitted: Admitted, until end: MonotonicTime, on database: Database, later: Later,
    done: @escaping @Sendable (Result<Reserved, any Error>) -> Void
  ) {
    database.submitWrite(
      for: share(admitted),
      { transaction in try reserve(transaction, admitted, MonotonicTime.now() >= end) }
    ) { result in
      switch result {
      case .success(let reserved?): done(.success(reserved))
      case .success(nil):
        let accepted = later.submit {
          ask(admitted, until: end, on: database, later: later, done: done)
        }
        if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
      case .failure(let error): done(.failure(error))
      }
    }
  }

  private func reception(
    _ admitted: Admitted, _ reserved: Reserved, on database: Database, pool: WorkPool
  ) throws -> Admission {
    let giveBack: @Sendable () -> Void = {
      database.submitWrite(
        for: share(admitted), { transaction in try release(transaction, reserved) }
      ) { _ in }  // failing that, the reservation expires by itself
    }
    let sink: Sink
    do { sink = try receive(reserved) } catch {
      giveBack()
      throw error
    }
    return Admission(
      body: .stream(byteCountMax: byteCountMax, sink),
      finish: { _ in
        .pending { done in
          let fail: @Sendable (any Error) -> Void = { error in
            giveBack()
            done(.failure(error))
          }
          let accepted = pool.submit {
            do { try settle(reserved, sink) } catch { return fail(error) }
            database.submitWrite(
              for: share(admitted), { transaction in try transact(transaction, reserved) }
            ) { result in
              switch result {
              case .success(let output): done(Result { try respond(output) })
              case .failure(let error): fail(error)
              }
            }
          }
          if !accepted { fail(DatabaseError.busy(retryAfterSeconds: 1)) }
        }
      }, abandon: giveBack)
  }
}
