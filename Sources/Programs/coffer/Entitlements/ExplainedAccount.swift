import Accounts
import Acts
import Answers
import Base
import CommandLine
import Ledger
import Tiers

/// An account with all reasons for its cap.
struct ExplainedAccount {
  let explanation: EntitlementExplanation
  let account: Account
  /// The actors of decisions by the decisions' numbers, as far as acts are known.
  let actors: [Int64: String]

  /// The width that a terminal, a mail and a ticket have room for.
  static let widthMax = min(100, Terminal.width)

  var sentences: [String] { explanation.sentences(usedByteCount: account.usageByteCount) }

  var decisions: [(decided: Decided, actor: String?)] {
    explanation.decisions.map { ($0, actors[$0.sequence]) }
  }

  /// For people: what to say, what applies now, the times, and the reasons. `isWide` prints ids in full,
  /// whatever the width of the lines.
  func text(isWide: Bool) -> String {
    let now = explanation.now
    func table(_ title: String, _ table: Table) -> String {
      table.isEmpty ? "" : "\n\(title)\n" + table.indented(isWide: isWide)
    }
    var text = Self.text(of: sentences) + "\n" + fields
    text += table("schedule", schedule)
    for grant in explanation.grants { text += "\n" + self.text(grant) }
    text += table(
      "decisions, newest first", ExplanationListings.decisions.table(decisions, at: now))
    text += table(
      "refused claims, newest first",
      RefusedClaimText.listing.table(explanation.refusedClaims, at: now))
    for unread in explanation.unread {
      text += "\n\(unread.key): not read yet\n"
      text += Self.line(SubscriptionText.sentence(unread.read, from: unread.store))
    }
    for subscription in explanation.subscriptions {
      let told = SubscriptionText(
        subscription: subscription,
        owned: subscription.ownership.map { "the account's own: \($0)" }, now: now,
        moment: explanation.moment, fallbackPlanID: explanation.catalogue.fallbackPlanID,
        isWide: isWide)
      text += "\n" + told.text
    }
    return text
  }

  static func text(of sentences: [String]) -> String {
    sentences.map { Prose.lines($0, width: widthMax).joined(separator: "\n") + "\n" }.joined()
  }

  static func line(_ text: String, indent: String = "  ") -> String {
    Prose.text(text, indent: indent, width: widthMax)
  }

  private var fields: String {
    let (current, indent) = (explanation.current, "          ")
    var text = "account   \(account.id)\(account.username.map { " (\($0))" } ?? "")\n"
    text += "at        \(explanation.now)\n"
    if let erased = explanation.erased {
      text += "erased    \(erased)\n"
    } else {
      text += """
        used      \(size(account.usageByteCount))
        cap       \(size(current.capByteCount)), plan \(current.planID)
        because   \(current.reason.rawValue): \(explanation.because)

        """
      if let suspended = explanation.suspended { text += "suspended \(suspended)\n" }
      if let leaving = explanation.leaving {
        let end = explanation.erases?.description ?? "its export"
        text += "leaving   \(leaving), is erased from \(end) on\n"
        text += explanation.deletionParts.map { "\(indent)\($0.text)\n" } ?? ""
      }
    }
    if explanation.moment != explanation.now { text += asked }
    text += "derived   "
    text +=
      explanation.derived.map {
        "\($0.at), catalogue \($0.catalogueVersion), policy \($0.policyVersion)\n"
      } ?? "never: no subscription of this account is known\n"
    if let record = explanation.catalogueOfRecord, record.number > 1 {
      text += "plans     by catalogue \(record.number) of record, since \(record.since): "
      text += "coffer plan history\n"
    }
    if let since = explanation.paysTwiceSince {
      text += "attention pays for more than one subscription since \(since); caps never add up\n"
      if let paid = explanation.paidTwice {
        text += Self.line(Printable.text(PaidTwiceText.sentence(paid)), indent: indent)
      }
    }
    return text
  }

  /// What applied at the moment in question, and what is known of it now.
  private var asked: String {
    func told(_ boundary: Schedule.Boundary) -> String {
      "\(size(boundary.capByteCount)), plan \(boundary.planID), \(boundary.reason.rawValue)"
    }
    let owed = told(explanation.owedThen)
    let then =
      explanation.heldThen.map {
        "held      \(told($0))\nowed      \(owed), by present knowledge"
      } ?? "then      \(explanation.isErasedThen ? "erased" : owed), without further events"
    return "\nasked     \(explanation.moment)\n\(then)\n\n"
  }

  private var schedule: Table {
    var table = Table(
      ("", .left), ("FROM", .left), ("CAP", .right), ("PLAN", .left), ("REASON", .left))
    let held = explanation.held.map { ("held", $0.beginning) }
    let remaining = explanation.remaining.map { ($0 == explanation.current ? "now" : "", $0) }
    for (mark, step) in held + remaining {
      table.add(
        mark, Terminal.time(step.from, now: explanation.now), ByteCount.text(step.capByteCount),
        step.planID, step.reason.rawValue)
    }
    return table
  }

  private func text(_ grant: Grant) -> String {
    "grant \(grant.id): \(grant.planID)\n"
      + "  from \(grant.from) until \(grant.until?.description ?? "further notice")\n"
      + Self.line("note: \(Printable.text(grant.note))")
  }

  private func size(_ count: Int64) -> String {
    count < 1000 ? ByteCount.text(count) : "\(ByteCount.text(count)) (\(count) bytes)"
  }
}

extension Table {
  /// The table below a title. It is no wider than an explanation, unless full ids are wanted.
  func indented(isWide: Bool) -> String {
    let indent = "    "
    return text(width: isWide ? .max : ExplainedAccount.widthMax - indent.count)
      .split(separator: "\n").map { "\(indent)\($0)\n" }.joined()
  }
}
