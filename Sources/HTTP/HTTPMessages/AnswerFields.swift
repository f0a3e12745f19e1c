import Base

/// Header fields that the response to one request carries, whatever the response is.
///
/// The request's handlers set them as they run, so refusals carry them too. Safe to use from any thread.
package final class AnswerFields: Sendable {
  private let fields = Locked<[(name: String, value: String)]>([])

  package init() {}

  /// Sets a field and replaces an earlier value of this name.
  package func set(_ name: String, _ value: String) {
    fields.withLock { fields in
      fields.removeAll { $0.name == name }
      fields.append((name, value))
    }
  }

  package var all: [(name: String, value: String)] { fields.withLock { $0 } }
}
