internal import Base

/// Header fields that the answer to one request carries, whatever the answer is.
///
/// Whoever handles the request adds to them while it is under way, e.g. what is left of a limit; so
/// refusals have them, too, and those that the server itself makes. For any thread.
package final class AnswerFields: Sendable {
  private let fields = Locked<[(name: String, value: String)]>([])

  package init() {}

  package func add(_ name: String, _ value: String) {
    fields.withLock { $0.append((name, value)) }
  }

  package var all: [(name: String, value: String)] { fields.withLock { $0 } }
}
