import Answers
import Base
import CommandLine
import JSON
import JWS
import Ledger
import Stores
import Subscriptions
import Tiers

/// A delivery as `coffer event show` prints it.
struct ShownEvent: Sendable {
  let delivery: DeliverySummary
  let effect: DeliveryEffect
  let canHaveNoEffect: Bool
  let now: Instant

  /// `message` is what came, if it must be shown.
  func text(message: [UInt8]?) -> String {
    var text = Prose.fields(
      [
        ("delivery", delivery.deliveryID), ("number", "\(delivery.number)"),
        ("store", "\(delivery.provider.rawValue), \(delivery.environment?.rawValue ?? "unknown")"),
        ("type", delivery.type), ("about", delivery.object ?? "-"), ("came by", origin),
        ("created", delivery.created?.description ?? "-"),
        ("received", delivery.received.description), ("again", again), ("became", became),
      ], width: 11)
    func section<Row>(_ title: String, _ listing: Listing<Row>, _ rows: [Row]) {
      text += rows.isEmpty ? "" : "\n" + listing.section(title, rows, at: now)
    }
    section("is about", Self.subscriptions, effect.subscriptions)
    section("changed", Self.changes, effect.changes)
    text += owedText
    text += "\nholds\n"
    text += Prose.indented(
      effect.held.isEmpty
        ? "nothing: it is outdated, or changes no stored object\n"
        : effect.held.map { Printable.text($0.description) + "\n" }.joined())
    section("had read again", Self.requests, effect.requests)
    if let message {
      text +=
        "\nas it came\n"
        + Prose.indented(Self.safe(String(decoding: message, as: UTF8.self), Printable.text))
      for part in UnfoldedPart.all(in: KeptDelivery.parts(of: message).body) {
        text +=
          "\n\(Printable.text(part.path)) of it\n"
          + Prose.indented(Self.safe(part.text, Printable.json))
      }
    }
    return text
  }

  /// What the delivery changed of what is owed. If it changed neither that nor a state, a reference
  /// to the command that shows more.
  private var owedText: String {
    guard !effect.owed.isEmpty else {
      guard effect.changes.isEmpty, delivery.disposition == .joined else { return "" }
      return "\nchanged\n  no recorded change; coffer whatif \(delivery.number) tells what "
        + "would be owed without it\n"
    }
    return effect.owed.map { owed in
      var table = Table(
        ("", .left), ("PLAN", .left), ("FROM", .left), ("TO", .left), ("WHY", .left))
      for (side, spans) in [("before", owed.change.before), ("after", owed.change.after)] {
        if spans.isEmpty { table.add(side, "-", "-", "-", "-") }
        for span in spans {
          table.add(
            side, span.planID, span.from.description, span.to.description, span.why.rawValue)
        }
      }
      return "\nowed for \(Printable.text(owed.subscription.description))\n"
        + table.indented()
    }.joined()
  }

  private static func safe(_ text: String, _ line: (String) -> String) -> String {
    text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
      .map { line(String($0)) + "\n" }.joined()
  }

  private var origin: String {
    switch delivery.origin {
    case .webhook:
      "webhook, " + (delivery.proof ?? "proven by a secret or key that was not recorded")
    case .list:
      // A list does not bring a known delivery again; only a webhook does.
      "list: reconciliation found it, " + (delivery.proof ?? "-")
        + (delivery.redeliveryCount > 0 ? "; a webhook brought it later" : "")
    case .read: "an answer to a read of ours"
    case .claim: "a claim: a client posted it"
    }
  }

  private var again: String {
    guard delivery.redeliveryCount > 0 else { return "never" }
    let times = delivery.redeliveryCount == 1 ? "once" : "\(delivery.redeliveryCount) times"
    return times + (delivery.redelivered.map { ", the last time \($0)" } ?? "")
  }

  private var became: String {
    var text = "\(delivery.disposition.rawValue): \(EventText.sentence(delivery.disposition))"
    if let error = delivery.error { text += ": \(error)" }
    if delivery.isConflicting { text += "; another delivery with the same id contradicts it" }
    if canHaveNoEffect, delivery.disposition == .joined || delivery.disposition == .recorded {
      text += "; grants nothing here except to testers: it is from the other environment"
    }
    return text
  }

  // MARK: for programs

  static var shape: JSONShape {
    listing.item.adding([.init("message", .text, isOptional: true)])
  }

  func json(message: [UInt8]?) -> JSONValue {
    .object(
      Self.listing.members(self)
        + (message.map { [.init("message", .string(Base64.standard.encode($0)))] } ?? []))
  }

  private static var listing: Listing<ShownEvent> {
    Listing(
      EventText.listing.columns { $0.delivery } + [
        .bool("can_have_no_effect") { $0.canHaveNoEffect },
        .list("subscriptions", subscriptions) { $0.effect.subscriptions },
        .texts("accounts") { $0.effect.accounts.map(\.description) },
      ] + effects.columns { $0.effect } + [
        .texts("holds") { $0.effect.held.map(\.description) },
        .list("read_again", requests) { $0.effect.requests },
      ])
  }

  /// Changes of subscriptions, and of what is owed for them.
  private static var effects: Listing<DeliveryEffect?> {
    Listing([
      .list("changes", changes) { $0?.changes ?? [] }, .list("owed", owed) { $0?.owed ?? [] },
    ])
  }

  static var effectShape: [JSONShape.Member] { effects.shapes }

  /// The members in the shape of `effectShape`.
  static func members(_ effect: DeliveryEffect?) -> [JSONValue.Member] { effects.members(effect) }

  private static var subscriptions: Listing<DeliveryEffect.Subscription> {
    Listing([
      .text("subscription", "SUBSCRIPTION") { $0.key.description },
      .text("state", "STATE") { $0.label.rawValue },
      .optionalText("owner", "OWNER", absent: "nobody") { $0.owner?.description },
    ])
  }

  private static var changes: Listing<DeliveryEffect.Change> {
    Listing([
      .time("at", "AT") { $0.transition.at }, .time("noticed", "NOTICED") { $0.transition.noticed },
      .text("before") { $0.transition.before }, .text("after") { $0.transition.after },
      .shown("CHANGE") { change, _ in
        "\(change.transition.before) -> \(change.transition.after)"
      },
      .text("cause", "CAUSE") { $0.transition.cause },
      .text("subscription", "SUBSCRIPTION") { $0.subscription.description },
    ])
  }

  private static var owed: Listing<DeliveryEffect.Owed> {
    Listing([
      .text("subscription") { $0.subscription.description },
      .time("noticed") { $0.change.noticed },
      .list("before", ChangeText.spans) { $0.change.before },
      .list("after", ChangeText.spans) { $0.change.after },
    ])
  }

  private static var requests: Listing<DeliveryEffect.Request> {
    Listing([
      .text("object", "OBJECT") { $0.object.description }, .text("reason", "WHY") { $0.reason },
    ])
  }
}
