internal import Base

/// Header fields that the answer to one request carries, whatever the answer is.
///
/// Whoever handles the request sets them while it is under way, e.g. what is left of a limit; so
/// refusals have them, too, and those that the server itself makes. For any thread.
package final class AnswerFields: Sendable {
  private let fields = Locked<[(name: String, value: String)]>([])

  package init() {}

  /// Replaces what was said under this name before.
  package func set(_ name: String, _ value: String) {
    fields.withLock { fields in
      fields.removeAll { $0.name == name }
      fields.append((name, value))
    }
  }

  package var all: [(name: String, value: String)] { fields.withLock { $0 } }
}
