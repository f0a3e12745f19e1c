internal import Answers
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Stores
internal import Subscriptions
internal import Tiers

/// A delivery as `coffer event show` prints it.
struct ShownEvent: Sendable {
  let delivery: DeliverySummary
  let effect: DeliveryEffect
  let canHaveNoEffect: Bool
  let now: Instant

  /// `message` is what came, if it must be shown.
  func text(message: [UInt8]?) -> String {
    var text = EventText.fields([
      ("delivery", delivery.deliveryID), ("number", "\(delivery.number)"),
      ("store", "\(delivery.provider.rawValue), \(delivery.environment?.rawValue ?? "unknown")"),
      ("type", delivery.type), ("about", delivery.object ?? "-"), ("came by", origin),
      ("created", delivery.created?.description ?? "-"),
      ("received", delivery.received.description), ("again", again), ("became", became),
    ])
    if !effect.subscriptions.isEmpty {
      var table = Table(("SUBSCRIPTION", .left), ("STATE", .left), ("OWNER", .left))
      for subscription in effect.subscriptions {
        table.add(
          subscription.key.description, subscription.label.rawValue,
          subscription.owner?.description ?? "nobody")
      }
      text += "\nis about\n" + EventText.indented(table)
    }
    if !effect.changes.isEmpty {
      var table = Table(
        ("AT", .left), ("NOTICED", .left), ("CHANGE", .left), ("CAUSE", .left),
        ("SUBSCRIPTION", .left))
      for change in effect.changes {
        table.add(
          Terminal.time(change.transition.at, now: now),
          Terminal.time(change.transition.noticed, now: now),
          "\(change.transition.before) -> \(change.transition.after)", change.transition.cause,
          change.subscription.description)
      }
      text += "\nchanged\n" + EventText.indented(table)
    }
    text += owed
    text += "\nholds\n"
    text += EventText.indented(
      effect.held.isEmpty
        ? "nothing: it is outdated, or changes no stored object\n"
        : effect.held.map { Printable.text($0.description) + "\n" }.joined())
    if !effect.requests.isEmpty {
      var table = Table(("OBJECT", .left), ("WHY", .left))
      for request in effect.requests { table.add(request.object.description, request.reason) }
      text += "\nhad read again\n" + EventText.indented(table)
    }
    if let message {
      text += "\nas it came\n" + EventText.indented(Self.printable(message))
      for part in UnfoldedPart.all(in: KeptDelivery.parts(of: message).body) {
        text += "\n\(Printable.text(part.path)) of it\n" + EventText.indented(part.text)
      }
    }
    return text
  }

  /// What the delivery changed of what is owed. If it changed neither that nor a state, a reference
  /// to the command that shows more.
  private var owed: String {
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
        + EventText.indented(table)
    }.joined()
  }

  private static func printable(_ message: [UInt8]) -> String {
    String(decoding: message, as: UTF8.self)
      .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
      .map { Printable.text(String($0)) + "\n" }.joined()
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

  static let shape: JSONShape = EventText.shape.adding([
    .init("can_have_no_effect", .bool),
    .init(
      "subscriptions", .list(["subscription": .text, "state": .text, "owner": .orNull(.text)])),
    .init("accounts", .list(.text)),
  ]).adding(effectShape).adding([
    .init("holds", .list(.text)),
    .init("read_again", .list(["object": .text, "reason": .text])),
    .init("message", .text, isOptional: true),
  ])

  /// Changes of subscriptions, and of what is owed for them.
  static let effectShape: [JSONShape.Member] = [
    .init(
      "changes",
      .list([
        "subscription": .text, "at": .time, "noticed": .time, "cause": .text,
        "before": .text, "after": .text,
      ])),
    .init(
      "owed",
      .list([
        "subscription": .text, "noticed": .time, "before": .list(span), "after": .list(span),
      ])),
  ]

  private static let span: JSONShape = [
    "plan": .text, "from": .orNull(.time), "to": .orNull(.time), "why": .text,
  ]

  func json(message: [UInt8]?) -> JSONValue {
    var members = EventText.members(delivery)
    members.append(.init("can_have_no_effect", .bool(canHaveNoEffect)))
    members.append(.init("subscriptions", .array(effect.subscriptions.map(Self.json))))
    members.append(
      .init("accounts", .array(effect.accounts.map { .string($0.description) })))
    members += Self.members(effect)
    members.append(.init("holds", .array(effect.held.map { .string($0.description) })))
    members.append(.init("read_again", .array(effect.requests.map(Self.json))))
    if let message {
      members.append(.init("message", .string(Base64.standard.encode(message))))
    }
    return .object(members)
  }

  /// The members in the shape of `effectShape`.
  static func members(_ effect: DeliveryEffect?) -> [JSONValue.Member] {
    [
      .init("changes", .array((effect?.changes ?? []).map(Self.json))),
      .init("owed", .array((effect?.owed ?? []).map(Self.json))),
    ]
  }

  private static func json(_ subscription: DeliveryEffect.Subscription) -> JSONValue {
    [
      "subscription": .string(subscription.key.description),
      "state": .string(subscription.label.rawValue),
      "owner": subscription.owner.map { .string($0.description) } ?? .null,
    ]
  }

  private static func json(_ change: DeliveryEffect.Change) -> JSONValue {
    [
      "subscription": .string(change.subscription.description),
      "at": .string(change.transition.at.description),
      "noticed": .string(change.transition.noticed.description),
      "cause": .string(change.transition.cause),
      "before": .string(change.transition.before), "after": .string(change.transition.after),
    ]
  }

  private static func json(_ owed: DeliveryEffect.Owed) -> JSONValue {
    func spans(_ spans: [OwedChange.Span]) -> JSONValue {
      .array(
        spans.map { span in
          [
            "plan": .string(span.planID), "from": .moment(span.from),
            "to": .moment(span.to), "why": .string(span.why.rawValue),
          ]
        })
    }
    return [
      "subscription": .string(owed.subscription.description),
      "noticed": .string(owed.change.noticed.description), "before": spans(owed.change.before),
      "after": spans(owed.change.after),
    ]
  }

  private static func json(_ request: DeliveryEffect.Request) -> JSONValue {
    ["object": .string(request.object.description), "reason": .string(request.reason)]
  }
}

/// Texts about deliveries for several commands.
enum EventText {
  static func sentence(_ disposition: DecodedDelivery.Disposition) -> String {
    switch disposition {
    case .joined: "merged into its objects"
    case .recorded: "stored; it changes no stored object, or only causes a read"
    case .foreign: "stored; it is of another account, app or shop"
    case .premature: "stored, not merged: it is dated after its own arrival; read again instead"
    case .undecodable: "stored; it is genuine but cannot be read, which raises an alarm"
    }
  }

  static func fields(_ fields: [(name: String, value: String)]) -> String {
    fields.map { name, value in
      name + String(repeating: " ", count: max(1, 11 - name.count)) + Printable.text(value) + "\n"
    }.joined()
  }

  /// A line for each field, with the values aligned.
  static func aligned(_ fields: [(name: String, value: String)]) -> String {
    let width = fields.map(\.name.count).max() ?? 0
    return fields.map { name, value in
      name + String(repeating: " ", count: width - name.count + 2) + Printable.text(value) + "\n"
    }.joined()
  }

  static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
      line.isEmpty ? "\n" : "  \(line)\n"
    }.joined()
  }

  /// The table indented, no wider than the terminal.
  static func indented(_ table: Table) -> String {
    let indent = "  "
    return indented(table.text(width: Terminal.width - indent.count))
  }

  static func count(_ total: DeliveryPage.Total) -> String {
    let count = Int64(total.count).grouped
    return switch total.limit {
    case nil: count
    case .counted: "more than \(count)"
    case .lookedAt: "at least \(count)"
    }
  }

  static func table(_ deliveries: [DeliverySummary], at now: Instant) -> Table {
    var table = Table(
      ("NUMBER", .right), ("RECEIVED", .left), ("STORE", .left), ("BY", .left), ("TYPE", .left),
      ("BECAME", .left), ("AGAIN", .right), ("DELIVERY", .left))
    for delivery in deliveries {
      table.add(
        "\(delivery.number)", Terminal.time(delivery.received, now: now),
        delivery.provider.rawValue, delivery.origin.rawValue, delivery.type,
        delivery.disposition.rawValue + (delivery.isConflicting ? ", conflicting" : ""),
        delivery.redeliveryCount == 0 ? "-" : "\(delivery.redeliveryCount)", delivery.deliveryID)
    }
    return table
  }

  static let shape: JSONShape = [
    "number": .integer, "store": .text, "environment": .orNull(.text), "delivery": .text,
    "by": .text, "type": .text, "object": .orNull(.text), "api_version": .orNull(.text),
    "created": .orNull(.time), "received": .time, "proof": .orNull(.text), "disposition": .text,
    "conflicting": .bool, "redeliveries": .integer, "redelivered": .orNull(.time),
    "error": .orNull(.text),
  ]

  static func members(_ delivery: DeliverySummary) -> [JSONValue.Member] {
    func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    return [
      .init("number", .integer(delivery.number)),
      .init("store", .string(delivery.provider.rawValue)),
      .init("environment", text(delivery.environment?.rawValue)),
      .init("delivery", .string(delivery.deliveryID)),
      .init("by", .string(delivery.origin.rawValue)), .init("type", .string(delivery.type)),
      .init("object", text(delivery.object)), .init("api_version", text(delivery.apiVersion)),
      .init("created", text(delivery.created?.description)),
      .init("received", .string(delivery.received.description)),
      .init("proof", text(delivery.proof)),
      .init("disposition", .string(delivery.disposition.rawValue)),
      .init("conflicting", .bool(delivery.isConflicting)),
      .init("redeliveries", .integer(delivery.redeliveryCount)),
      .init("redelivered", text(delivery.redelivered?.description)),
      .init("error", text(delivery.error)),
    ]
  }
}
