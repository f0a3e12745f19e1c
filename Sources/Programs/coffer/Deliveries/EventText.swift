import Answers
import CommandLine
import JSON
import Stores
import Subscriptions
import Tiers

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

  static func count(_ total: DeliveryPage.Total) -> String {
    let count = Int64(total.count).grouped
    return switch total.limit {
    case nil: count
    case .counted: "more than \(count)"
    case .lookedAt: "at least \(count)"
    }
  }

  static var listing: Listing<DeliverySummary> {
    Listing([
      .integer("number", "NUMBER") { $0.number }, .time("received", "RECEIVED") { $0.received },
      .text("store", "STORE") { $0.provider.rawValue },
      .optionalText("environment") { $0.environment?.rawValue },
      .text("by", "BY") { $0.origin.rawValue }, .text("type", "TYPE") { $0.type },
      .optionalText("object") { $0.object }, .optionalText("api_version") { $0.apiVersion },
      .optionalTime("created") { $0.created }, .optionalText("proof") { $0.proof },
      Column(
        "disposition", .text, "BECAME", json: { .string($0.disposition.rawValue) },
        cell: { row, _ in row.disposition.rawValue + (row.isConflicting ? ", conflicting" : "") }),
      .bool("conflicting") { $0.isConflicting },
      Column(
        "redeliveries", .integer, "AGAIN", .right, json: { .integer($0.redeliveryCount) },
        cell: { row, _ in row.redeliveryCount == 0 ? "-" : "\(row.redeliveryCount)" }),
      .optionalTime("redelivered") { $0.redelivered },
      .text("delivery", "DELIVERY") { $0.deliveryID }, .optionalText("error") { $0.error },
    ])
  }
}
