package import Base
import JSON
package import Stores
import Subscriptions

extension DecodedDelivery {
  package init(_ event: StripeEvent, received: Instant) {
    let disposition = Self.disposition(of: event, received: received)
    self.init(
      provider: .stripe, environment: event.environment, deliveryID: event.id, type: event.type,
      apiVersion: event.apiVersion, object: event.objectID, created: event.created,
      facts: event.facts, requests: Self.requests(event, disposition), terms: event.terms,
      notes: Set(event.notes.map(\.rawValue)), disposition: disposition,
      meaning: [
        "type": .string(event.type), "created": .integer(event.created.milliseconds),
        "account": event.connectedAccount.map { .string($0) } ?? .null,
        "object": event.objectID.map { .string($0) } ?? .null,
      ])
  }

  /// A thin event only names an object. What happened to it is read.
  package init(_ event: StripeThinEvent) {
    let isOurs = event.context == nil
    self.init(
      provider: .stripe, environment: event.environment, deliveryID: event.id, type: event.type,
      object: event.objectID, created: event.created,
      requests: isOurs
        ? [event.object].compactMap { $0 }.map { .happened(event.type, to: $0) } : [],
      disposition: isOurs ? .recorded : .foreign,
      meaning: [
        "type": .string(event.type), "created": .integer(event.created.milliseconds),
        "account": event.context.map { .string($0) } ?? .null,
        "object": event.objectID.map { .string($0) } ?? .null,
      ])
  }

  private static func disposition(of event: StripeEvent, received: Instant) -> Disposition {
    if event.connectedAccount != nil { return .foreign }
    guard !event.facts.isEmpty else { return .recorded }
    return event.facts.contains { isPremature($0.asOf, received: received) } ? .premature : .joined
  }

  private static func requests(_ event: StripeEvent, _ disposition: Disposition) -> [ReadRequest] {
    let reason: String? =
      if disposition == .premature { "premature" } else if !event.incompleteObjects.isEmpty {
        StripeEvent.Note.listCutShort.rawValue
      } else { nil }
    guard let reason else { return [] }
    return Set(event.facts.flatMap { $0.readable }).sorted().map { ReadRequest($0, reason: reason) }
  }
}

extension ReadRequest {
  /// Several thin events may report one change.
  private static let settlingTime = Instant.Span.seconds(2)

  /// A request to read an object to which something happened.
  fileprivate static func happened(_ type: String, to object: ObjectKey) -> ReadRequest {
    ReadRequest(object, reason: type, delay: settlingTime)
  }
}

extension Fact {
  /// What to read so that this fact is reported again: its subscription, otherwise the payment that it names.
  fileprivate var readable: [ObjectKey] {
    if key.kind == .subscription { return [key] }
    let targets = links.filter { $0.origin == key }.map { $0.target }
    let subscriptions = targets.filter { $0.kind == .subscription }
    return subscriptions.isEmpty ? targets.filter { $0.kind == .payment } : subscriptions
  }
}
