import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Repair
import Tiers

/// The answer of `plan diff`.
enum DifferenceAnswer {
  static var shape: JSONShape {
    .object([
      .init("before", .text), .init("after", .text), .init("accounts", .integer),
      .init("lose", .integer), .init("gain", .integer), .init("renamed", .integer),
      .init("fee_before", .integer), .init("fee_after", .integer), products.memberShape,
      prices.memberShape, changes(of: "losses").memberShape, changes(of: "gains").memberShape,
    ])
  }

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
    let changed = (products: old.productChanges(to: new), prices: old.priceChanges(to: new))
    text += part("products", products, changed.products, ending: "\n")
    text += part("prices", prices, changed.prices, ending: "\n")
    let fees = (old.metadataFeeByteCount, new.metadataFeeByteCount)
    if fees.0 != fees.1 {
      text += "each record costs \(fees.1) bytes instead of \(fees.0)\n"
    }
    if let restart = old.restart(for: new) { text += "once it is applied \(restart)\n" }
    let (losses, gains) = (changes(of: "losses"), changes(of: "gains"))
    text += part("lose", losses, difference.losses) + part("gain", gains, difference.gains)
    return Answer(
      text: text,
      json: .object([
        .init("before", .string(old.digest)), .init("after", .string(new.digest)),
        .init("accounts", .integer(Int64(difference.accountCount))),
        .init("lose", .integer(Int64(difference.lossCount))),
        .init("gain", .integer(Int64(difference.gainCount))),
        .init("renamed", .integer(Int64(difference.renamedCount))),
        .init("fee_before", .integer(fees.0)), .init("fee_after", .integer(fees.1)),
        products.member(changed.products), prices.member(changed.prices),
        losses.member(difference.losses), gains.member(difference.gains),
      ]))
  }

  /// A table under its title, if it has rows.
  private static func part<Row>(
    _ title: String, _ listing: Listing<Row>, _ rows: [Row], ending: String = ""
  ) -> String {
    rows.isEmpty ? "" : "\n\(title):\n" + listing.text(rows, at: .distantPast) + ending
  }

  private static var products: Listing<Catalogue.ProductChange> {
    Listing(
      "products",
      [
        .text("store", "STORE") { $0.provider }, .text("product", "PRODUCT") { $0.id },
        .optionalText("before", "BEFORE") { $0.before },
        Column(
          "after", .orNull(.text), "AFTER", json: { $0.after.map { .string($0) } ?? .null },
          cell: { product, _ in
            product.after ?? "- (owners keep \(product.before ?? "nothing"))"
          }),
      ])
  }

  private static var prices: Listing<Catalogue.PriceChange> {
    Listing(
      "prices",
      [
        .text("plan", "PLAN") { $0.planID }, Plan.Price.column("before", "BEFORE") { $0.before },
        Plan.Price.column("after", "AFTER") { $0.after },
      ])
  }

  private static func changes(of name: String) -> Listing<CatalogueDifference.Change> {
    func column(
      _ name: String, _ title: String,
      _ boundary: @escaping (CatalogueDifference.Change) -> Schedule.Boundary
    ) -> Column<CatalogueDifference.Change> {
      Column(
        name, ["cap": .integer, "plan": .text, "reason": .text], title,
        json: { change in
          let boundary = boundary(change)
          return [
            "cap": .integer(boundary.capByteCount), "plan": .string(boundary.planID),
            "reason": .string(boundary.reason.rawValue),
          ]
        },
        cell: { change, _ in
          let boundary = boundary(change)
          return "\(ByteCount.text(boundary.capByteCount)) \(boundary.planID) "
            + boundary.reason.rawValue
        })
    }
    return Listing(
      name,
      [
        .text("account", "ACCOUNT") { $0.account.description },
        Column(
          "from", .time, "FROM", json: { .string($0.at.description) },
          cell: { change, _ in change.at.description }),
        column("before", "BEFORE") { $0.before }, column("after", "AFTER") { $0.after },
      ])
  }

  private static func size(_ id: String, of catalogue: Catalogue) -> String {
    catalogue.plan(id).map { ByteCount.text($0.byteCount) } ?? "-"
  }
}
