import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import ProviderAPI
import Storage
import Stores
import Subscriptions

extension Command {
  private static let limit = Parameter<Int>.limit()

  static let attention = Command(
    words: ["attention"],
    abstract: "List what needs attention, most urgent first",
    discussion: """
      Each entry shows how long it has existed, how long until it settles by itself, and the command that \
      handles it. A ! marks entries where somebody loses money or data if nothing is done. The exit code \
      is then 2, for monitoring. Entries that leave no trace when handled, such as a late payment, are \
      listed for 30 days. coffer-billing exports the same counts as the metric coffer_billing_attention.
      """,
    examples: [
      "coffer attention",
      "coffer attention --json | jq .",
    ],
    options: [limit],
    answers: AttentionText.listing.item,
    run: { invocation in
      let limit = invocation[limit]
      return try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        // `coffer config` reports wrong settings; here they must not hide the rest.
        let configured = try? StoreList.configured(invocation.settings, clock: configuration.clock)
        let ledger = Ledger(stores: .known, configuration)
        let shown = try database.read { reader in
          let list = try AttentionList(
            at: now, limit: limit, stores: configured ?? .known, reading: reader)
          return AttentionText(
            list: list, twice: try list.paidTwice(at: now, of: ledger, reading: reader), now: now)
        }
        return Answer(
          code: shown.list.urgentCount > 0 ? .urgent : .ok, text: shown.text,
          json: AttentionText.listing.json(shown))
      }
    })
}

struct AttentionText: Sendable {
  let list: AttentionList
  let twice: [Identifier: PaidTwice]
  let now: Instant

  var text: String {
    guard !list.items.isEmpty else { return "nothing needs attention\n" }
    var text = "\(list.count) \(list.count == 1 ? "thing needs" : "things need") attention, "
    text += "\(list.urgentCount) urgent\n\n"
    text += Self.line(" ", "KIND", "SINCE", "LEFT", "WHAT", tint: .title)
    for item in list.items {
      text += Self.line(
        item.kind.isUrgent ? "!" : " ", item.kind.rawValue, SpanText.text(now - item.since),
        item.until.map { Self.left($0 - now) } ?? "-", sentence(item),
        tint: item.kind.isUrgent ? .bad : nil)
      if let words = command(item) {
        text += "    coffer \(words.map(Self.word).joined(separator: " "))\n"
      }
    }
    let count = list.items.count
    return count < list.count ? text + "\n\(count) of \(list.count); see --limit\n" : text
  }

  private func paidTwice(_ item: Attention) -> PaidTwice? {
    item.kind == .doublePayment ? item.account.flatMap { twice[$0] } : nil
  }

  private func sentence(_ item: Attention) -> String {
    item.sentence + (paidTwice(item).map { ": \(PaidTwiceText.sentence($0))" } ?? "")
  }

  private func command(_ item: Attention) -> [String]? {
    paidTwice(item).flatMap { PaidTwiceText.command($0) } ?? item.command
  }

  private static func line(
    _ mark: String, _ kind: String, _ since: String, _ left: String, _ what: String,
    tint: Terminal.Tint?
  ) -> String {
    let head = "\(mark) \(padded(kind, 20))  \(padded(since, 7))  \(padded(left, 7))  "
    let width = ExplainedAccount.widthMax - head.count
    let indent = String(repeating: " ", count: head.count)
    let lines = Prose.lines(Printable.text(what), width: width)
    return lines.enumerated().map { index, line in
      Terminal.tinted((index == 0 ? head : indent) + line, tint) + "\n"
    }.joined()
  }

  /// The remaining time; the last days are counted in hours.
  private static func left(_ span: Instant.Span) -> String {
    SpanText.text(max(span, .seconds(0)), hoursBelow: .days(4))
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func word(_ word: String) -> String {
    Attention.left.contains(word) ? word : Printable.shell(word)
  }

  static var listing: Listing<AttentionText> {
    let item = Listing<(attention: Attention, list: AttentionText)>([
      .text("kind") { $0.attention.kind.rawValue }, .bool("urgent") { $0.attention.kind.isUrgent },
      .text("subject") { $0.attention.subject },
      .optionalText("account") { $0.attention.account?.description },
      .text("detail") { $0.attention.detail }, .time("since") { $0.attention.since },
      .optionalTime("until") { $0.attention.until },
      Column(
        "command", .orNull(.list(.text)),
        json: { $0.list.command($0.attention).map { .array($0.map { .string($0) }) } ?? .null }),
      .optionalObject("paid_twice", PaidTwiceText.listing) { $0.list.paidTwice($0.attention) },
    ])
    let kinds = Attention.Kind.allCases
    return Listing([
      .time("at") { $0.now }, .integer("urgent") { Int64($0.list.urgentCount) },
      Column(
        "counts", .object(kinds.map { .init($0.rawValue, .integer, isOptional: true) }),
        json: { text in
          .object(
            kinds.compactMap { kind in
              text.list.counts[kind].map { .init(kind.rawValue, .integer(Int64($0))) }
            })
        }), .list("items", item) { text in text.list.items.map { ($0, text) } },
    ])
  }
}

extension Attention {
  /// The subject, shortened if it is long; the command has its full name.
  private var shownSubject: String { Folded.text(subject, to: 48) }

  fileprivate var sentence: String {
    switch kind {
    case .unacknowledged:
      "\(shownSubject): the store will refund it because the purchase was not acknowledged"
        + (account == nil ? ", and no account owns it" : "")
    case .storeUnanswered: "\(subject) \((cause ?? .silence).deed); waiting: \(detail)"
    case .deadJob: "\(shownSubject): failed permanently; \(detail)"
    case .failingItem: "coffer-sync cannot process \(subject) and retries: \(detail)"
    case .unreconciled: "\(subject) is not reconciled: \(detail)"
    case .openOrder: "the order \(subject) has no answer from its store: \(detail)"
    case .stuckFlow: "the flow \(subject) is stuck: \(detail)"
    case .undecodableDelivery: "\(shownSubject): \(detail)"
    case .dispute: "\(shownSubject): the bank disputes \(detail)"
    case .doublePayment:
      "\(subject) pays for more than one subscription; only the largest plan counts"
    case .unowned: "\(shownSubject) is paid for but belongs to no account"
    case .unknownAccount: "\(subject) is paid for, but no such account exists"
    case .contestedOwner: "\(shownSubject): its store names two owners, so it belongs to neither"
    case .unknownProduct: "\(shownSubject): \(detail) is in no catalogue"
    case .irregularPayment: "\(shownSubject): \(detail)"
    case .paidAfterEnd: "\(shownSubject): \(detail) was paid after the end"
    case .reversal: "\(shownSubject): \(detail) did not change the quota"
    case .refusedClaim:
      "\(shownSubject) was claimed by \(account.map { "\($0)" } ?? ""), but belongs to another account"
    case .stillBilled:
      "\(shownSubject) is still billed, although its account was erased"
        + (isStoppedHere ? "" : "; only the customer can cancel it, at the store")
    case .unmappedProduct: "\(shownSubject): \(detail) is no longer in the catalogue"
    case .unknownStatus: "\(shownSubject): its store reports \(detail), which Coffer does not know"
    case .unconfirmed:
      "\(shownSubject): its store announced \(detail), but its answers do not show it"
    case .unpaidTime:
      "\(shownSubject) has time that nothing paid for" + (detail.isEmpty ? "" : ": \(detail)")
    case .contradiction: "\(shownSubject): its store reports two different states for one moment"
    case .conflictingDelivery: "\(shownSubject) arrived before with other content; \(detail)"
    case .overCap: "\(subject) uses \(detail) since its quota shrank"
    case .divergingChain:
      "the chain \(subject) of \(account.map { "\($0)" } ?? "") had its block \(detail) replaced: two devices "
        + "changed it at once"
    case .unexported: "\(subject) waits for its export before it is erased"
    case .certificate: "\(detail), which verifies the signatures of \(subject), expires"
    case .unusedSecret: "\(subject): nothing was \(detail) for a while; remove it"
    case .fullMailbox:
      "the mailbox of the device \(Folded.text(subject, to: 16)) has no room: \(detail)"
    case .idleKey:
      "\(detail) of devices opened no session for a year, for longest \(Folded.text(subject, to: 16))"
    }
  }

  /// The words that only the operator can fill in.
  fileprivate static let left: Set<String> = ["<account>", "<file>", "<path>", "<why>"]

  /// The command that deals with it or shows more, as words of a command line. The operator fills
  /// in a word in <>.
  fileprivate var command: [String]? {
    let words = subject.split(separator: " ").map(String.init)
    switch kind {
    case .unacknowledged where account != nil:
      return ["jobs", "retry", "acknowledge", "--object", subject]
    case .unacknowledged, .unowned, .contestedOwner:
      return ["subscription", "transfer", subject, "<account>", "--reason", "<why>"]
    case .refusedClaim:
      let account = account?.description ?? "<account>"
      return ["subscription", "transfer", subject, account, "--reason", "<why>"]
    case .storeUnanswered where cause == .configuration: return ["doctor", "--online"]
    case .storeUnanswered where cause == .sealing: return ["doctor"]
    case .storeUnanswered: return ["jobs", "list"]
    case .deadJob:
      return words.count == 2
        ? ["jobs", "retry", words[0], "--object", words[1]] : ["jobs", "list"]
    case .failingItem:
      return account.map { ["tree", "validate", $0.description] } ?? ["doctor"]
    case .unreconciled: return ["reconcile", "list", "--store", subject]
    case .stuckFlow: return ["flow", "show", subject]
    case .openOrder: return ["audit", "show", subject]
    case .undecodableDelivery, .conflictingDelivery:
      return words.last.map { ["event", "show", $0] }
    case .doublePayment: return ["entitlement", "explain", subject]
    case .dispute, .irregularPayment, .paidAfterEnd, .reversal:
      return account.map { ["entitlement", "explain", $0.description] } ?? ["find", subject]
    case .unknownStatus, .unpaidTime, .contradiction, .unconfirmed:
      return ["subscription", "read", subject]
    case .unknownProduct, .unmappedProduct:
      return ["plan", "apply", "<file>", "--reason", "<why>"]
    case .overCap: return ["usage", "show", subject]
    case .unexported: return ["account", "export", subject, "--to", "<path>"]
    case .certificate: return nil
    case .unusedSecret: return ["webhook", "proofs"]
    case .stillBilled where isStoppedHere:
      return ["subscription", "cancel", subject, "--reason", "<why>"]
    case .stillBilled, .fullMailbox, .idleKey, .unknownAccount, .divergingChain:
      return ["find", subject]
    }
  }

  /// Whether Coffer can stop the billing of a subscription at its store.
  private var isStoppedHere: Bool {
    let store = ObjectKey(subject).flatMap { try? StoreList.known.store(of: $0) }
    return store?.traits.orders.contains(.stopRenewal) ?? false
  }
}
