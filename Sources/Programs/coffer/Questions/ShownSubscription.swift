internal import Accounts
internal import Acts
internal import Answers
internal import Audit
internal import Base
internal import CommandLine
internal import JSON
internal import Ledger
internal import Orders
internal import Storage
internal import Stores
internal import Subscriptions
internal import Sync

/// A purchase with everything that is known of it.
struct ShownSubscription: Sendable {
  private let found: SubscriptionExplanation
  private let now: Instant
  /// The names of the accounts that exist, by their ids.
  private let names: [Identifier: String]
  private let orders: [Order]

  private static let orderCountMax = 10

  /// Nil if nothing was derived of it.
  init?(
    _ key: ObjectKey, at now: Instant, _ ledger: Ledger, reading reader: Reader
  ) throws {
    guard let found = try SubscriptionExplanation(key, at: now, of: ledger, reading: reader) else {
      return nil
    }
    self.found = found
    self.now = now
    let accounts =
      [found.owner].compactMap { $0 } + found.formerOwners.map(\.account) + found.named
      + found.claimants + found.refusedClaims.map(\.account)
    var names: [Identifier: String] = [:]
    for id in Set(accounts) { names[id] = try Account.find(reader, id)?.shown }
    self.names = names
    orders = try OrderRows.newest(about: key, limit: Self.orderCountMax, reading: reader)
  }

  private func shown(_ account: Identifier) -> String {
    names[account] ?? "\(account), which does not exist"
  }

  // MARK: text

  func text(fallbackPlanID: String?, isWide: Bool) -> String {
    let told = found.told
    var fields: [(name: String, value: String)] = [
      ("subscription", told.key.description), ("store", told.store),
      ("owner", found.owner.map(shown) ?? "nobody"),
    ]
    if let because = told.ownership { fields.append(("because", because)) }
    for former in found.formerOwners {
      fields.append(("until \(former.until)", shown(former.account)))
    }
    let others = found.named.filter { $0 != found.owner }
    fields += others.map { ("its store names", shown($0)) }
    fields += found.customers.map { ("customer", $0) }
    fields += found.claimants.map { ("claimed by", shown($0) + ", waits for a read") }
    var text = EventText.aligned(fields) + "\n"
    text +=
      SubscriptionText(
        told, owned: nil, at: now, about: now, fallbackPlanID: fallbackPlanID, isWide: isWide
      ).text
    if !found.refusedClaims.isEmpty {
      text += "\nrefused claims, newest first\n"
      text += RefusedClaimText.table(found.refusedClaims, at: now).indented(isWide: isWide)
    }
    if !orders.isEmpty { text += "\nordered, newest first\n" + orderTable.indented(isWide: isWide) }
    let objects = found.objects.filter { $0 != told.key }.map(Self.name)
    if !objects.isEmpty {
      text += "\nits objects\n"
      text += Prose.text(
        Printable.text(objects.joined(separator: ", ")), indent: "  ",
        width: ExplanationText.widthMax)
    }
    text += "\ndeliveries, newest first\n"
    text += EventText.indented(EventText.table(found.deliveries, at: now))
    if found.deliveries.count < found.deliveryTotal.count {
      text += "  \(found.deliveries.count) of \(EventText.count(found.deliveryTotal))\n"
    }
    return text
  }

  private static func name(_ object: ObjectKey) -> String { "\(object.kind.rawValue) \(object.id)" }

  private var orderTable: Table {
    var table = Table(
      ("ORDER", .left), ("AT", .left), ("WHAT", .left), ("STATE", .left), ("ANSWER", .wrapped))
    for order in orders {
      table.add(
        order.name.description, Terminal.time(order.asked, now: now), order.request.kind.rawValue,
        order.state.rawValue, order.answer ?? "-")
    }
    return table
  }

  // MARK: JSON

  static let shape: JSONShape = [
    "subscription": .text, "owner": .orNull(.text), "because": .orNull(.text),
    "former_owners": .list(["account": .text, "until": .time]), "named": .list(.text),
    "customers": .list(.text), "claimants": .list(.text),
    "refused_claims": .list(RefusedClaimText.shape),
    "state": ExplanationJSON.subscriptionShape,
    "orders": .list([
      "order": .text, "at": .time, "kind": .text, "state": .text, "answer": .orNull(.text),
    ]),
    "objects": .list(.text), "deliveries": .list(EventText.shape), "delivery_count": .integer,
  ]

  var json: JSONValue {
    [
      "subscription": .string(found.told.key.description),
      "owner": found.owner.map { .string($0.description) } ?? .null,
      "because": found.told.ownership.map { .string($0) } ?? .null,
      "former_owners": .array(
        found.formerOwners.map { former in
          [
            "account": .string(former.account.description),
            "until": .string(former.until.description),
          ]
        }),
      "named": .array(found.named.map { .string($0.description) }),
      "customers": .array(found.customers.map { .string($0) }),
      "claimants": .array(found.claimants.map { .string($0.description) }),
      "refused_claims": .array(found.refusedClaims.map(RefusedClaimText.json)),
      "state": ExplanationJSON.subscription(found.told),
      "orders": .array(
        orders.map { order in
          [
            "order": .string(order.name.description), "at": .string(order.asked.description),
            "kind": .string(order.request.kind.rawValue), "state": .string(order.state.rawValue),
            "answer": order.answer.map { .string($0) } ?? .null,
          ]
        }),
      "objects": .array(found.objects.map { .string($0.description) }),
      "deliveries": .array(found.deliveries.map { .object(EventText.members($0)) }),
      "delivery_count": .integer(Int64(found.deliveryTotal.count)),
    ]
  }
}
