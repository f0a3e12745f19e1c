import Base
import CommandLine
import Configuration
import JSON
import Ledger
import Repair
import Tiers

/// The answer of `plan diff`.
enum DifferenceAnswer {
  typealias Compared = (difference: CatalogueDifference, old: Catalogue, new: Catalogue)

  static var listing: Listing<Compared> {
    Listing([
      .text("before") { $0.old.digest }, .text("after") { $0.new.digest },
      .integer("accounts") { Int64($0.difference.accountCount) },
      .integer("lose") { Int64($0.difference.lossCount) },
      .integer("gain") { Int64($0.difference.gainCount) },
      .integer("renamed") { Int64($0.difference.renamedCount) },
      .integer("fee_before") { $0.old.metadataFeeByteCount },
      .integer("fee_after") { $0.new.metadataFeeByteCount },
      .list("products", products) { $0.old.productChanges(to: $0.new) },
      .list("prices", prices) { $0.old.priceChanges(to: $0.new) },
      .list("losses", changes) { $0.difference.losses },
      .list("gains", changes) { $0.difference.gains },
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
    text += part("products", products, old.productChanges(to: new), ending: "\n")
    text += part("prices", prices, old.priceChanges(to: new), ending: "\n")
    let fees = (old.metadataFeeByteCount, new.metadataFeeByteCount)
    if fees.0 != fees.1 {
      text += "each record costs \(fees.1) bytes instead of \(fees.0)\n"
    }
    if let restart = old.restart(for: new) { text += "once it is applied \(restart)\n" }
    text += part("lose", changes, difference.losses) + part("gain", changes, difference.gains)
    return Answer(text: text, json: listing.json((difference, old, new)))
  }

  private static func part<Row>(
    _ title: String, _ listing: Listing<Row>, _ rows: [Row], ending: String = ""
  ) -> String {
    rows.isEmpty ? "" : "\n\(title):\n" + listing.text(rows, at: .distantPast) + ending
  }

  private static var products: Listing<Catalogue.ProductChange> {
    Listing([
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
    Listing([
      .text("plan", "PLAN") { $0.planID }, Plan.Price.column("before", "BEFORE") { $0.before },
      Plan.Price.column("after", "AFTER") { $0.after },
    ])
  }

  private static var changes: Listing<CatalogueDifference.Change> {
    func column(
      _ name: String, _ title: String,
      _ boundary: @escaping (CatalogueDifference.Change) -> Schedule.Boundary
    ) -> Column<CatalogueDifference.Change> {
      Column(
        name, ChangeText.caps.item, title, json: { ChangeText.caps.json(boundary($0)) },
        cell: { change, _ in
          let boundary = boundary(change)
          return "\(ByteCount.text(boundary.capByteCount)) \(boundary.planID) "
            + boundary.reason.rawValue
        })
    }
    return Listing([
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
