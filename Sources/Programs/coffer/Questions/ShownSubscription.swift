import Accounts
import Acts
import Answers
import Audit
import Base
import CommandLine
import Ledger
import Orders
import Storage
import Stores
import Subscriptions

/// A purchase with everything that is known of it.
struct ShownSubscription: Sendable {
  private let found: SubscriptionExplanation
  private let now: Instant
  /// The names of the accounts that exist, by their ids.
  private let names: [Identifier: String]
  private let orders: [Order]

  private static let orderCountMax = 10

  /// Nil if nothing was derived of it.
  init?(_ key: ObjectKey, at now: Instant, _ ledger: Ledger, reading reader: Reader) throws {
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
    var text = Prose.fields(fields) + "\n"
    text +=
      SubscriptionText(
        subscription: told, owned: nil, now: now, moment: now, fallbackPlanID: fallbackPlanID,
        isWide: isWide
      ).text
    if !found.refusedClaims.isEmpty {
      text += "\nrefused claims, newest first\n"
      text += RefusedClaimText.listing.table(found.refusedClaims, at: now).indented(isWide: isWide)
    }
    if !orders.isEmpty {
      text +=
        "\nordered, newest first\n" + Self.orders.table(orders, at: now).indented(isWide: isWide)
    }
    let objects = found.objects.filter { $0 != told.key }.map(Self.name)
    if !objects.isEmpty {
      text += "\nits objects\n"
      text += Prose.text(
        Printable.text(objects.joined(separator: ", ")), indent: "  ",
        width: ExplainedAccount.widthMax)
    }
    text += "\ndeliveries, newest first\n"
    text += EventText.listing.table(found.deliveries, at: now).indented()
    if found.deliveries.count < found.deliveryTotal.count {
      text += "  \(found.deliveries.count) of \(EventText.count(found.deliveryTotal))\n"
    }
    return text
  }

  private static func name(_ object: ObjectKey) -> String { "\(object.kind.rawValue) \(object.id)" }

  // MARK: for programs

  static var listing: Listing<ShownSubscription> {
    Listing([
      .text("subscription") { $0.found.told.key.description },
      .optionalText("owner") { $0.found.owner?.description },
      .optionalText("because") { $0.found.told.ownership },
      .list("former_owners", FormerOwnerText.listing) { $0.found.formerOwners },
      .texts("named") { $0.found.named.map(\.description) },
      .texts("customers") { $0.found.customers },
      .texts("claimants") { $0.found.claimants.map(\.description) },
      .list("refused_claims", RefusedClaimText.listing) { $0.found.refusedClaims },
      Column(
        "state", ExplanationListings.subscription.item,
        json: { ExplanationListings.subscription.json($0.found.told) }),
      .list("orders", orders) { $0.orders },
      .texts("objects") { $0.found.objects.map(\.description) },
      .list("deliveries", EventText.listing) { $0.found.deliveries },
      .integer("delivery_count") { Int64($0.found.deliveryTotal.count) },
    ])
  }

  private static var orders: Listing<Order> {
    Listing([
      .text("order", "ORDER") { $0.name.description }, .time("at", "AT") { $0.asked },
      .text("kind", "WHAT") { $0.request.kind.rawValue },
      .text("state", "STATE") { $0.state.rawValue },
      .optionalText("answer", "ANSWER", .wrapped) { $0.answer },
    ])
  }
}
