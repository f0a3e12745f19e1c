internal import Base
internal import CommandLine
internal import Configuration
internal import JSON
internal import Ledger
internal import Repair
internal import Tiers

/// The answer of `plan diff`.
enum DifferenceAnswer {
  private static let changes: JSONShape = {
    let boundary: JSONShape = ["cap": .integer, "plan": .text, "reason": .text]
    return .list(["account": .text, "from": .time, "before": boundary, "after": boundary])
  }()

  static let shape: JSONShape = [
    "before": .text, "after": .text, "accounts": .integer, "lose": .integer, "gain": .integer,
    "renamed": .integer, "fee_before": .integer, "fee_after": .integer,
    "products": .list([
      "store": .text, "product": .text, "before": .orNull(.text), "after": .orNull(.text),
    ]),
    "prices": .list([
      "plan": .text, "before": .list(Plan.Price.shape), "after": .list(Plan.Price.shape),
    ]),
    "losses": changes, "gains": changes,
  ]

  static func answer(
    _ difference: CatalogueDifference, from old: Catalogue, to new: Catalogue
  ) -> Answer {
    let ids = Set((old.paid + new.paid).map(\.id) + [old.free.id, new.free.id]).sorted()
    var plans = Table(("PLAN", .left), ("BEFORE", .right), ("AFTER", .right))
    for id in ids { plans.add(id, size(id, of: old), size(id, of: new)) }
    var text =
      plans.text + "\naccounts compared: \(difference.accountCount); \(difference.lossCount) lose, "
      + "\(difference.gainCount) gain, \(difference.renamedCount) keep their caps under another "
      + "plan or reason\n"
    if old.free.byteCount != new.free.byteCount {
      text += "accounts unknown to billing have the plan \(new.free.id)\n"
    }
    for plan in old.paid where new.plan(plan.id) == nil && plan.isLess(than: new.free) {
      text +=
        "accounts that keep the plan \(plan.id), \(ByteCount.text(plan.byteCount)), have less than free "
        + "accounts: \(ByteCount.text(new.free.byteCount))\n"
    }
    let products = old.productChanges(to: new)
    if !products.isEmpty { text += "\nproducts:\n" + table(products).text + "\n" }
    let prices = old.priceChanges(to: new)
    if !prices.isEmpty { text += "\nprices:\n" + table(prices).text + "\n" }
    let fees = (old.metadataFeeByteCount, new.metadataFeeByteCount)
    if fees.0 != fees.1 {
      text += "each record costs \(fees.1) bytes instead of \(fees.0)\n"
    }
    if let restart = old.restart(for: new) { text += "once it is applied \(restart)\n" }
    for (title, changes) in [("lose", difference.losses), ("gain", difference.gains)]
    where !changes.isEmpty {
      var table = Table(
        ("ACCOUNT", .left), ("FROM", .left), ("BEFORE", .left), ("AFTER", .left))
      for change in changes {
        table.add(
          change.account.description, change.at.description, shown(change.before),
          shown(change.after))
      }
      text += "\n\(title):\n" + table.text
    }
    return Answer(
      text: text,
      json: [
        "before": .string(old.digest), "after": .string(new.digest),
        "accounts": .integer(Int64(difference.accountCount)),
        "lose": .integer(Int64(difference.lossCount)),
        "gain": .integer(Int64(difference.gainCount)),
        "renamed": .integer(Int64(difference.renamedCount)),
        "fee_before": .integer(old.metadataFeeByteCount),
        "fee_after": .integer(new.metadataFeeByteCount),
        "products": .array(products.map(json)), "prices": .array(prices.map(json)),
        "losses": .array(difference.losses.map(json)),
        "gains": .array(difference.gains.map(json)),
      ])
  }

  private static func table(_ products: [Catalogue.ProductChange]) -> Table {
    var table = Table(("STORE", .left), ("PRODUCT", .left), ("BEFORE", .left), ("AFTER", .left))
    for product in products {
      table.add(
        product.provider, product.id, product.before ?? "-",
        product.after ?? "- (owners keep \(product.before ?? "nothing"))")
    }
    return table
  }

  private static func json(_ product: Catalogue.ProductChange) -> JSONValue {
    [
      "store": .string(product.provider), "product": .string(product.id),
      "before": product.before.map { .string($0) } ?? .null,
      "after": product.after.map { .string($0) } ?? .null,
    ]
  }

  private static func table(_ prices: [Catalogue.PriceChange]) -> Table {
    var table = Table(("PLAN", .left), ("BEFORE", .left), ("AFTER", .left))
    for price in prices { table.add(price.planID, text(price.before), text(price.after)) }
    return table
  }

  private static func text(_ prices: [Plan.Price]) -> String {
    prices.isEmpty ? "-" : prices.map(\.text).joined(separator: ", ")
  }

  private static func json(_ price: Catalogue.PriceChange) -> JSONValue {
    [
      "plan": .string(price.planID), "before": .array(price.before.map(\.json)),
      "after": .array(price.after.map(\.json)),
    ]
  }

  private static func size(_ id: String, of catalogue: Catalogue) -> String {
    catalogue.plan(id).map { ByteCount.text($0.byteCount) } ?? "-"
  }

  private static func shown(_ boundary: Schedule.Boundary) -> String {
    "\(ByteCount.text(boundary.capByteCount)) \(boundary.planID) \(boundary.reason.rawValue)"
  }

  private static func json(_ change: CatalogueDifference.Change) -> JSONValue {
    func value(_ boundary: Schedule.Boundary) -> JSONValue {
      [
        "cap": .integer(boundary.capByteCount), "plan": .string(boundary.planID),
        "reason": .string(boundary.reason.rawValue),
      ]
    }
    return [
      "account": .string(change.account.description), "from": .string(change.at.description),
      "before": value(change.before), "after": value(change.after),
    ]
  }
}
