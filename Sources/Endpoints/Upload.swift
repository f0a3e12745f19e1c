package import Base
package import HTTPMessages
package import HTTPServer
package import Storage

/// An endpoint whose body is too large for memory, in stages in this order: it is reserved, streamed to an object,
/// committed. After any failure `release` gives the room back; the next start does after a crash.
package protocol Upload: Sendable {
  /// The request, as far as the headers show it.
  associatedtype Request: Sendable
  /// The reservation for the request.
  associatedtype Reservation: Sendable
  /// The type that takes the body.
  associatedtype Sink: BodySink
  associatedtype Answer: Sendable

  var byteCountMax: Int64 { get }

  func admit(_ head: RequestHead, _ captures: [Substring]) throws -> Request
  /// The inquiry to the database before anything is written, as for an endpoint.
  func inquire(_ request: Request) -> Inquiry?
  /// The lane in which the request takes its turn under load.
  func lane(_ request: Request) -> Identifier?
  /// Runs in a transaction of its own before the first body byte, which spares a refused client sending it. Nil while
  /// the request waits for another one. It is called again after a while, and must decide if `isLast` is set.
  func reserve(
    _ transaction: Transaction, _ request: Request, isLast: Bool
  ) throws -> Reservation?
  /// Opens the place where the bytes go.
  func receive(_ reservation: Reservation) throws -> Sink
  /// Compares the digest and makes the object durable. Runs on a pool that may block.
  func settle(_ reservation: Reservation, _ sink: Sink) throws
  /// Makes the object visible and consumes the reservation, in one transaction.
  func transact(_ transaction: Transaction, _ reservation: Reservation) throws -> Answer
  func release(_ transaction: Transaction, _ reservation: Reservation) throws
  func respond(_ answer: Answer) throws -> Response
}

/// How long a request waits for another one: shorter than clients wait for a response.
package let uploadPatience = Instant.Span.seconds(5)

extension Upload {
  /// `pool` runs work that may block; `later` repeats the reservation for requests that wait.
  package func admission(
    _ head: RequestHead, _ captures: [Substring], on database: Database, pool: WorkPool,
    later: Later
  ) throws -> Step<Admission> {
    let request = try admit(head, captures)
    return try database.step(after: inquire(request)) {
      .pending { done in
        ask(
          request, until: .now() + uploadPatience, on: database, later: later,
          done: { result in
            done(
              result.flatMap { reservation in
                Result { try reception(request, reservation, on: database, pool: pool) }
              })
          })
      }
    }
  }

  /// Asks for a reservation again and again. Waiting costs no thread, but a transaction each time.
  private func ask(
    _ request: Request, until end: MonotonicTime, on database: Database, later: Later,
    done: @escaping @Sendable (Result<Reservation, any Error>) -> Void
  ) {
    database.submitWrite(
      for: lane(request),
      { transaction in try reserve(transaction, request, isLast: MonotonicTime.now() >= end) }
    ) { result in
      switch result {
      case .success(let reservation?): done(.success(reservation))
      case .success(nil):
        let accepted = later.submit {
          ask(request, until: end, on: database, later: later, done: done)
        }
        if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
      case .failure(let error): done(.failure(error))
      }
    }
  }

  private func reception(
    _ request: Request, _ reservation: Reservation, on database: Database, pool: WorkPool
  ) throws -> Admission {
    let giveBack: @Sendable () -> Void = {
      database.submitWrite(
        for: lane(request), { transaction in try release(transaction, reservation) }
      ) { _ in }  // failing that, the reservation expires by itself
    }
    let sink: Sink
    do { sink = try receive(reservation) } catch {
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
            do { try settle(reservation, sink) } catch { return fail(error) }
            database.submitWrite(
              for: lane(request), { transaction in try transact(transaction, reservation) }
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
