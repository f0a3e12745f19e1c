import Base

/// Counts the signatures that one instance of the API has checked, which is most of its workers'
/// work: those of requests, and those of statements in batches. A signature refused before curve
/// arithmetic does not count.
package final class SignatureCounter: Sendable {
  private struct Counts {
    var requests: Int64 = 0
    var statements: Int64 = 0
  }

  private let counts = Locked(Counts())

  private static let requests = instrument("request")
  private static let statements = instrument("statement")

  package init() { _ = (Self.requests, Self.statements) }

  package var requestCount: Int64 { counts.withLock { $0.requests } }
  package var statementCount: Int64 { counts.withLock { $0.statements } }

  package func countRequest() {
    counts.withLock { $0.requests += 1 }
    Self.requests.add()
  }

  package func countStatement() {
    counts.withLock { $0.statements += 1 }
    Self.statements.add()
  }

  private static func instrument(_ signed: String) -> Metrics.Counter {
    Metrics.shared.counter(
      "coffer_signature_checks_total", "Signatures checked.", label: ("of", signed))
  }
}
