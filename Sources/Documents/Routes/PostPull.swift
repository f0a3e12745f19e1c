import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

/// `POST /v1/documents/pull`: the current versions that a clock lacks, which would be too long for a query.
///
/// It reads a snapshot. If it shows that a device knows of deletions that wait, that is recorded then. So it writes at most
/// once for a deletion, however often a client asks, and no pull fails because nothing can be written.
struct PostPull: AccountEndpoint {
  let host: ProtocolHost
  var gate: RequestGate { host.gate }
  let method = "POST"
  let pattern = "/v1/documents/pull"
  let bodyByteCountMax = Pull.bodyByteCountMax

  typealias Input = (request: AccountRequest, pull: Pull)
  typealias Answer = (page: SentContents, known: KnownDeletions?)

  func prepare(_ request: AccountRequest, _ body: [UInt8]) throws -> Input {
    let body = try request.checked(body)
    request.credentials.meter.charge(Price.json(body.count), for: .json)
    return (request: request, pull: try Pull(body))
  }

  func perform(
    _ request: AccountRequest, _ body: [UInt8], on database: Database
  ) throws -> Step<Response> {
    let input = try prepare(request, body)
    return .pending { done in
      database.submitRead(for: lane(request), { reader in try read(reader, input) }) { result in
        let response = result.map { answer in respond(answer, to: input) }
        guard let known = try? result.get().known else { return done(response) }
        database.submitWrite(
          for: lane(request), { transaction in try known.save(transaction, now: host.clock.now()) }
        ) { _ in done(response) }
      }
    }
  }

  private func read(_ reader: Reader, _ input: Input) throws -> Answer {
    let credentials = input.request.credentials
    defer { credentials.meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
    let now = host.clock.now()
    let caller = try Caller(reader, credentials, now: now)
    let page = try input.pull.read(reader, for: caller, now: now)
    return (page: SentContents(of: caller.account, page.json.encoded()), known: page.known)
  }

  func respond(_ answer: Answer, to input: Input) -> Response {
    answer.page.response(to: input.request, from: host)
  }
}
