internal import Base
internal import Glibc
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
    let hasBody = !body.isEmpty || ["POST", "PUT"].contains(method)
    let length = hasBody ? [("Content-Length", "\(body.count)")] : []
    let head = RequestHead(
      method: method, target: target, headers: Headers(headers + length), authority: authority)
    guard case .route(let route, let captures) = router.match(method, head.path) else {
      return .empty(404)
    }
    do {
      let admission = try route.admit(head, captures).outcome()
      return try admission.finish(try Self.receive(body, admission)).outcome()
    } catch {
      return problem(error, head).response(requestID: "r")
    }
  }

  /// The bytes that remain for `finish`.
  private static func receive(_ body: [UInt8], _ admission: Admission) throws -> [UInt8] {
    guard case .stream(_, let sink) = admission.body else { return body }
    do { try unsafe sink.write(body.span.bytes) } catch {
      admission.abandon?()
      throw error
    }
    return []
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
    case .file(let file, let range):
      var bytes = [UInt8](repeating: 0, count: Int(range.upperBound - range.lowerBound))
      let count = unsafe pread(file.descriptor, &bytes, bytes.count, off_t(range.lowerBound))
      return Array(bytes.prefix(max(0, count)))
    case .blocks: preconditionFailure("a simulation's objects are files of this machine")
    }
  }
}
