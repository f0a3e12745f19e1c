import RecordedStories
import TestEngines
import TestFiles
import Testing

/// Every question of docs/cookbook.md, answered by the command given there.
struct CookbookTests {
  /// A command, and what its answer must contain.
  private struct Answer {
    let words: [String]
    let facts: [String]
    var code: Int32 = 0
  }

  @Test func `each question is answered by the command that is written beneath it`() throws {
    let shop = try CookbookShop()
    let answers = try Self.answers(shop)
    let questions = try Self.questions()
    #expect(questions.count >= 30)
    #expect(Set(questions.map(\.name)) == Set(answers.keys))
    for (name, text) in questions {
      guard let answer = answers[name] else { continue }
      let command =
        "coffer "
        + answer.words.prefix { $0.first?.isLetter == true }
        .prefix(2).joined(separator: " ")
      #expect(
        text.contains(command) || text.contains("coffer \(answer.words[0])"),
        "\(name) does not name \(command)")
      let told = try Finished(answer.words, environment: shop.environment)
      #expect(told.code == answer.code, "\(name)\n\(told.out)\(told.errors)")
      for fact in answer.facts {
        #expect((told.out + told.errors).contains(fact), "\(name)\n\(told.out)\(told.errors)")
      }
    }
  }

  /// The sections of the cookbook: `### question` and the text below it.
  private static func questions() throws -> [(name: String, text: String)] {
    let document = try #require(Files.text("\(Files.repository)/docs/cookbook.md"))
    return document.split(separator: "\n### ").dropFirst().map { section in
      let lines = section.split(separator: "\n## ")[0].split(separator: "\n", maxSplits: 1)
      return (String(lines[0]), lines.count == 2 ? String(lines[1]) : "")
    }
  }

  private static func answers(_ shop: CookbookShop) throws -> [String: Answer] {
    func account(_ story: String) -> String { story.replacing("-", with: "") }
    func ask(_ words: String..., says facts: String..., code: Int32 = 0) -> Answer {
      Answer(words: words, facts: facts, code: code)
    }
    let (paid, lapsed) = (FirstPurchase.paid, account("failed-payment-lapse"))
    let plans = try shop.first.scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self).replacing(
        "30000000000", with: "20000000000"
      )
      .replacing("\"version\": \"", with: "\"version\": \"next-"), to: "plans.json")
    let yes = ["--reason", "support asked", "--yes"]
    func act(_ words: String..., says facts: String...) -> Answer {
      Answer(words: words + yes, facts: facts)
    }
    return [
      "Paid, but no space?": ask(
        "entitlement", "explain", lapsed, says: "payment failed", "because"),
      "What could the account store on the day of the complaint, and why?": ask(
        "entitlement", "explain", "ada", "--at", "2026-03-05T12:00:00Z", says: "2026-03-05"),
      "What will happen if the customer does nothing?": ask(
        "entitlement", "explain", "ada", "--at", "2027-06-01T00:00:00Z",
        says: "If nothing changes"),
      "Charged twice?": ask(
        "attention", says: "double_payment", shop.accounts["refunds-of-parts"] ?? "-", code: 2),
      "Refunded, and still there? Refunded in part?": ask(
        "entitlement", "explain", account("refunds-of-parts"), says: "refunded and disputed"),
      "Does the bank dispute a payment?": ask("attention", says: "dispute", code: 2),
      "The store is down. Does anybody lose space?": ask(
        "attention", says: "store_unanswered", code: 2),
      "Whose is this purchase? Claimed by two?": ask(
        "attention", says: "refused_claim", "coffer subscription transfer", code: 2),
      "They deleted their account, and are billed on.": ask(
        "attention", says: "still_billed", "customer", code: 2),
      "Which accounts hold more than they may, and since when?": ask(
        "attention", says: "over_cap", code: 2),
      "What did the other admin do last night?": ask(
        "audit", "list", "--actor", "carol", says: "subscription transfer"),
      "Who granted this, and why?": ask(
        "audit", "list", "--account", account("refunds-of-parts"),
        says: "bought with the wrong account", "carol"),
      "Did anybody tamper with the log?": ask("audit", "verify", says: "billing"),
      "They paid, and no delivery ever came.": ask(
        "subscription", "read", "sub_unheard", says: "sub_unheard"),
      "A job died, and what it would read is gone for good.": ask(
        "jobs", "list", "--dead", says: "sub_gone", "refused: 404"),
      "Give them more room until the new year.": act(
        "quota", "set", "ada", "100GB", "--until", "2027-01-01T00:00:00Z", says: "100 GB"),
      "Somebody abuses an account.": act("account", "suspend", "bob", says: "suspended"),
      "May I change the size of a plan?": ask(
        "plan", "diff", plans, says: "premium   30 GB   20 GB"),
      "A sealing key may be known to others.": ask(
        "delivery", "reseal", "--reason", "rotation", says: "0"),
      "Is last night's backup good?": ask("backup", "verify", shop.backups, says: "digests    ok"),
      "Is anything wrong with this installation?": ask("doctor", "--all", says: "charged", code: 1),
      "Is everything right that one account keeps?": ask(
        "account", "validate", "ada", says: "0 faults"),
      "Does the store still know our key?": ask("doctor", "--online", says: "stripe", code: 1),
      "A document cannot be downloaded. Is its content there?": ask(
        "tree", "validate", "ada", says: "1"),
      "Restore a folder deleted yesterday.": ask("tree", "trash", "ada"),
      "A user saved over a document. Is the old content there?": ask("tree", "history", "ada"),
      "The disk fills up with objects. Are they anybody's?": ask(
        "doctor", "--all", "--objects", says: "orphans      ok", code: 1),
      "Why is this account over its cap?": ask("usage", "explain", "ada", says: "live"),
      "A shared folder eats up its owner's space.": ask("usage", "explain", "ada", says: "live"),
      "An account is charged too much. Who is right?": ask(
        "usage", "show", "ada", says: "right      yes"),
      "The machine is gone. How do we come back?": ask(
        "restore", shop.backups, "--into", shop.first.scratch.path + "/new",
        says: "COFFER_DATABASE"),
      "Who is someone@example.com, and what did they buy?": ask(
        "find", FirstPurchase.address, says: FirstPurchase.subscription),
      "Which account has this device?": ask("find", shop.key, says: "bob"),
      "Whose was a purchase before, and who claims it now?": ask(
        "find", shop.moved, says: account("refunds-of-parts")),
      "Did the store ever tell us of it?": ask(
        "event", "list", "--account", "ada", says: "invoice.paid"),
      "What did this event change?": ask("event", "show", paid, says: "joined: merged into"),
      "Why did an event do nothing?": ask("event", "list", "--without-effect", says: "TYPE"),
      "The store says that it cannot deliver: why do we refuse?": ask(
        "event", "list", "--refused", says: shop.request),
      "Is the old webhook secret still in use?": ask(
        "webhook", "proofs", says: "signed with the secret"),
      "What stands behind a request id on a customer's screenshot?": ask(
        "event", "list", "--refused", "--json", says: shop.request),
      "Would they have lost their plan without that event?": ask(
        "whatif", "--without", paid, says: FirstPurchase.account),
      "A new version reads what the old one could not": ask(
        "event", "replay", paid, "--dry-run", says: paid),
    ]
  }
}
