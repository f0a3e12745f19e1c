import Accounts
import Acts
import Answers
import Base
import CommandLine
import Configuration
import JSON
import KnownStores
import Ledger
import Storage
import Stores
import Subscriptions

extension Command {
  private static let limit = Parameter<Int>.limit()
  private static let after = Parameter<Int64?>.below()
  private static let account = Parameter<String?>.optional(
    "--account", "account", text: "only subscriptions that this account owns or owned", .text)
  private static let store = Parameter<(any Store)?>.optional(
    "--store", "store", text: "of this store", .store)
  private static let type = Parameter<String?>.optional(
    "--type", "type", text: "only this type, e.g. invoice.paid, DID_RENEW or read", .text)
  private static let since = Parameter<StatedTime?>.optional(
    "--since", "time",
    text: "only received since this time in UTC: 2026-11-01T10:00:00Z, 2026-11-01 or 2h", .time)
  private static let withoutEffect = Parameter<Bool>.flag(
    "--without-effect",
    text: "only without effect on quotas: foreign, premature, undecodable or sandbox")
  private static let refused = Parameter<Bool>.flag(
    "--refused", text: "only refused deliveries: the last 100, and counts by reason")

  static let eventList = Command(
    words: ["event", "list"],
    abstract: "List what the stores sent and answered, newest first",
    discussion: """
      BY is webhook, a store's list (reconciliation), one of our reads, or a claim. BECAME says whether \
      the content was merged or only recorded. coffer event show prints one in full. A refused delivery \
      proved no sender, so nothing of it is stored: only its time, the reason, and the request id that the \
      log has. If there are more rows, a line on stderr shows how to continue.
      """,
    examples: ["coffer event list --account ada --since 2d"],
    options: [account, store, type, since, withoutEffect, refused, limit, after],
    answers: .oneOf([
      ["deliveries": .list(EventText.listing.item), "next": .orNull(.integer)],
      [
        "counts": .list(countListing.item), "refused": .list(refusedListing.item),
      ],
    ]),
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, owning: .billing) {
        database, configuration in
        let now = configuration.clock.now()
        let since = invocation[since]?.moment(at: now)
        if invocation[refused] {
          guard invocation[account] == nil, invocation[type] == nil, !invocation[withoutEffect],
            invocation[after] == nil
          else {
            throw CommandFailure(.usage, "--refused allows only --store, --since and --limit")
          }
          return try database.read { reader in
            try refusals(
              of: invocation[store], since: since, countMax: invocation[limit], at: now, reader)
          }
        }
        let ledger = Ledger(stores: .known, configuration)
        let (page, total) = try database.read { reader in
          var filter = DeliveryFilter()
          filter.account = try invocation[account].map { text -> Identifier in
            guard let id = Identifier(text), try ledger.knows(id, reading: reader) else {
              return try DatabaseSession.account(reader, text).id
            }
            return id
          }
          filter.provider = invocation[store]?.provider
          filter.type = invocation[type]
          filter.since = since
          filter.isWithoutEffect = invocation[withoutEffect]
          filter.below = invocation[after]
          filter.countMax = invocation[limit]
          let page = try DeliveryPage(filter, of: ledger, reading: reader)
          let isCounted = page.next != nil && !page.isCutShort
          return (
            page, isCounted ? try DeliveryPage.total(filter, of: ledger, reading: reader) : nil
          )
        }
        let shown = total.map {
          "\(Int64(page.deliveries.count).grouped) of \(EventText.count($0)) deliveries"
        }
        let seen = "\(DeliveryPage.lookedAtCountMax) deliveries were searched"
        let notice = page.next.map { "\(shown ?? seen); continue with --after \($0)" }
        return Answer(
          text: EventText.listing.text(page.deliveries, at: now),
          json: [
            "deliveries": EventText.listing.array(page.deliveries),
            "next": page.next.map { .integer($0) } ?? .null,
          ], notice: notice)
      }
    })

  private static func refusals(
    of store: (any Store)?, since: Instant?, countMax: Int, at now: Instant, _ reader: Reader
  ) throws -> Answer {
    func isWanted(_ provider: ObjectKey.Provider, _ last: Instant) -> Bool {
      (store.map { $0.provider == provider } ?? true) && (since.map { $0 <= last } ?? true)
    }
    let kept = try Refusals.latest(countMax: Refusals.keptCountMax, reading: reader)
      .filter { isWanted($0.provider, $0.at) }
    let latest = kept.prefix(countMax)
    let counts = try Refusals.counts(reading: reader).filter { isWanted($0.provider, $0.last) }
    return Answer(
      text: countListing.text(counts, at: now) + "\n" + refusedListing.text(Array(latest), at: now),
      json: [
        "counts": countListing.array(counts),
        "refused": refusedListing.array(Array(latest)),
      ],
      notice: latest.count < kept.count
        ? "\(latest.count) of \(kept.count) refused deliveries; --limit shows more" : nil)
  }

  private static var refusedListing: Listing<RefusedDelivery> {
    Listing(
      "refused",
      [
        .time("at", "AT") { $0.at }, .text("store", "STORE") { $0.provider.rawValue },
        .text("reason", "REASON") { $0.reason }, .text("request", "REQUEST") { $0.request },
      ])
  }

  private static var countListing: Listing<RefusalCount> {
    Listing(
      "counts",
      [
        .text("store", "STORE") { $0.provider.rawValue }, .text("reason", "REASON") { $0.reason },
        .integer("count", "COUNT") { $0.count }, .time("first", "FIRST") { $0.first },
        .time("last", "LAST") { $0.last },
      ])
  }
}
