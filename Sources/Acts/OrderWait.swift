package import Audit
package import Base
package import CommandLine
import Configuration
import Glibc
import JSON
import Orders
package import Storage

/// Waits until coffer-billing has a store's answer to an order.
package struct OrderWait {
  private let name: AuditEntry.Name
  private let store: String
  private let patience: Instant.Span

  private static let pause: useconds_t = 100_000

  /// `store` is its name for people.
  package init(for name: AuditEntry.Name, at store: String, atMost patience: Instant.Span) {
    (self.name, self.store, self.patience) = (name, store, patience)
  }

  /// What the answer has in addition to the act, once it is done.
  package static let shape: [JSONShape.Member] = [
    .init("state", .text, isOptional: true), .init("answer", .orNull(.text), isOptional: true),
  ]

  /// The answer to an act that placed the order, with the store's answer. Throws a `CommandFailure`
  /// if the store refuses.
  package func answer(behind act: Answer, _ database: Database) throws -> Answer {
    do { return try outcome(behind: act, database) } catch let error as DatabaseError {
      // An operator who does not see that it is placed would place it again once it is done.
      let failure = CommandFailure(of: error)
      throw CommandFailure(
        failure.code, "the order is placed: coffer audit show \(name); \(failure.text)")
    }
  }

  private func outcome(behind act: Answer, _ database: Database) throws -> Answer {
    let end = MonotonicTime.now() + patience
    while true {
      guard let order = try database.read({ try OrderRows.find(name.number, reading: $0) }) else {
        throw CommandFailure(.refused, "the order \(name) no longer exists")
      }
      let text = order.answer.map { ": \($0)" } ?? ""
      switch order.state {
      case .done:
        return answer(act, order, text: "done at \(store); the subscription is read next\n")
      case .failed:
        throw CommandFailure(.refused, "\(store)\(text); nothing was done")
      case .open where order.answer != nil, .doubted:
        throw CommandFailure(
          .unavailable,
          "\(store)\(text); coffer-billing makes sure that it is done once: coffer audit show \(name)"
        )
      case .open: break
      }
      guard MonotonicTime.now() < end else {
        var answer = answer(act, order, text: "")
        answer.code = .unfinished
        answer.notice =
          "\(store) has not answered after \(SpanText.text(patience)); the order stays open while "
          + "coffer-billing runs: coffer audit show \(name)"
        return answer
      }
      usleep(Self.pause)
    }
  }

  private func answer(_ act: Answer, _ order: Order, text: String) -> Answer {
    act.adding(
      [
        .init("state", .string(order.state.rawValue)),
        .init("answer", order.answer.map { .string($0) } ?? .null),
      ], text: text)
  }
}
