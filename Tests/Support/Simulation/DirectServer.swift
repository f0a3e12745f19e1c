import Base
import Glibc
package import HTTPMessages
package import HTTPServer

/// Answers requests with a program's routes, one at a time and without a socket.
package struct DirectServer: Sendable {
  private let router: Router
  private let authority: String
  private let problem: @Sendable (any Error, RequestHead) -> Problem

  package init(
    _ routes: [Route], authority: String,
    problem: @escaping @Sendable (any Error, RequestHead) -> Problem
  ) {
    router = Router(routes)
    self.authority = authority
    self.problem = problem
  }

  /// `headers` are the client's own; the length of the body is added, as by a client.
  package func answer(
    _ method: String, _ target: String, headers: [(String, String)], body: [UInt8]
  ) throws -> Response {
    let exchange = try begin(method, target, headers: headers, bodyByteCount: body.count)
    exchange.send(body[...])
    return try exchange.finish()
  }

  /// Begins a request whose body follows.
  package func begin(
    _ method: String, _ target: String, headers: [(String, String)], bodyByteCount: Int
  ) throws -> DirectExchange {
    let hasBody = bodyByteCount > 0 || ["POST", "PUT"].contains(method)
    let length = hasBody ? [("Content-Length", "\(bodyByteCount)")] : []
    let head = RequestHead(
      method: method, target: target, headers: Headers(headers + length), authority: authority)
    return DirectExchange(
      router.match(method, head.path), head, problem: { error in problem(error, head) })
  }
}

/// One request to a `DirectServer`, whose body arrives in pieces.
package final class DirectExchange {
  private var admission: Admission?
  private var body: [UInt8] = []
  /// The answer, if there was one before the end of the body.
  package private(set) var answer: Response?
  private let problem: (any Error) -> Problem

  fileprivate init(
    _ match: Router.Match, _ head: RequestHead, problem: @escaping (any Error) -> Problem
  ) {
    self.problem = problem
    guard case .route(let route, let captures) = match else {
      answer = .empty(404)
      return
    }
    do { admission = try route.admit(head, captures).outcome() } catch { refuse(error) }
  }

  private func refuse(_ error: any Error) {
    admission = nil
    answer = problem(error).response(requestID: "r")
  }

  package func send(_ bytes: ArraySlice<UInt8>) {
    guard let admission else { return }
    guard case .stream(_, let sink) = admission.body else {
      body += bytes
      return
    }
    guard !bytes.isEmpty else { return }
    do { try unsafe sink.write(bytes.span.bytes) } catch {
      hangUp()
      refuse(error)
    }
  }

  /// Ends the body, and returns the answer.
  package func finish() throws -> Response {
    if let admission {
      self.admission = nil
      do { answer = try admission.finish(body).outcome() } catch { refuse(error) }
    }
    guard let answer else { throw NoAnswer() }
    return answer
  }

  /// Ends the request as a client that goes away.
  package func hangUp() {
    admission?.abandon?()
    admission = nil
  }
}

/// A step without a result after half a minute.
package struct NoAnswer: Error {}

extension Step {
  /// The result of the step. Storage answers on its own threads; nothing else happens in the meantime.
  package func outcome() throws -> Value {
    switch self {
    case .ready(let value): return value
    case .pending(let start):
      let outcome = Locked<Result<Value, any Error>?>(nil)
      start { result in outcome.signal { $0 = result } }
      guard let result = outcome.wait(until: .now() + .seconds(30), { $0 }) else {
        throw NoAnswer()
      }
      return try result.get()
    }
  }
}

extension Response {
  /// The body's bytes, read from its file if it has one.
  package var bytes: [UInt8] {
    switch body {
    case .bytes(let bytes): return bytes
    case .unsent: return []
    case .file(let file, let range):
      var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
      let count = unsafe pread(file.descriptor, &bytes, bytes.count, off_t(range.lowerBound))
      return Array(bytes.prefix(max(0, count)))
    case .inherited: preconditionFailure("a stream has no end")
    case .blocks: preconditionFailure("a body that is fetched can fail: BlockSource.bytes(in:)")
    }
  }
}

extension BlockSource {
  /// A part of a body that is fetched in blocks.
  package func bytes(in range: Range<Int64>) throws -> [UInt8] {
    try Step<[UInt8]>.pending { done in fetch(range, done) }.outcome()
  }
}
