package import Base
internal import JSON
package import Stripe
internal import Subscriptions

extension DecodedSource {
  package init(_ event: StripeEvent, received: Instant) {
    let disposition = Self.disposition(of: event, received: received)
    self.init(
      provider: .stripe, partition: event.partition, deliveryID: event.id, type: event.type,
      apiVersion: event.apiVersion, object: event.objectID, created: event.created,
      facts: event.facts, hints: Self.hints(event, disposition),
      notes: Set(event.notes.map(\.rawValue)), disposition: disposition,
      meaning: [
        "type": .string(event.type), "created": .integer(event.created.milliseconds),
        "account": event.connectedAccount.map { .string($0) } ?? .null,
        "object": event.objectID.map { .string($0) } ?? .null,
      ])
  }

  private static func disposition(of event: StripeEvent, received: Instant) -> Disposition {
    if event.connectedAccount != nil { return .foreign }
    guard !event.facts.isEmpty else { return .recorded }
    return event.facts.contains { isPremature($0.asOf, received: received) } ? .premature : .joined
  }

  private static func hints(_ event: StripeEvent, _ disposition: Disposition) -> [Hint] {
    var hints = event.hints.map { Hint($0, reason: StripeEvent.Note.listCutShort.rawValue) }
    if disposition == .premature, let fact = event.facts.first {
      hints.append(Hint(fact.key, reason: "premature"))
    }
    return hints
  }
}
