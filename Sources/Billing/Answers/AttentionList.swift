package import Base
package import Ledger
import ProviderAPI
package import Storage
package import Stores
import Subscriptions
import Tiers

/// Everything that needs attention, ranked by kind, then by end, then by start.
package struct AttentionList: Sendable {
  package let items: [Attention]
  /// The number of items of each kind that occurs; counting stops at `countMax`.
  package let counts: [Attention.Kind: Int]

  /// The most that are counted of one kind.
  package static let countMax = 10_000

  /// How long items stay listed that no one can undo.
  private static let toldSpan = Instant.Span.days(30)
  /// How long a flow may stay at a step that waits for no client.
  private static let stepSpan = Instant.Span.hours(1)
  /// How long after a cap shrank its account is listed for holding more than it may.
  private static let overCapSpan = Instant.Span.days(365)
  /// How long before its end a certificate is listed.
  private static let certificateSpan = Instant.Span.days(90)

  package init(
    at now: Instant, limit: Int, stores: StoreList, reading reader: Reader
  ) throws {
    var items: [Attention] = []
    var counts: [Attention.Kind: Int] = [:]
    for source in Self.sources(at: now) {
      let found = try source.rows(limit: limit, reader)
      // Fewer than the limit are all found, so they need no query to count them.
      let count = found.count < limit ? found.count : try source.count(reader)
      if count > 0 { counts[source.kind] = count }
      items += found
    }
    let others =
      try Self.unanswered(of: stores, reader) + Self.certificates(of: stores, at: now)
      + Self.unusedSecrets(of: stores, reader) + Self.idleKeys(at: now, reader)
    for item in others { counts[item.kind, default: 0] += 1 }
    items += others
    self.counts = counts
    self.items = Array(items.sorted { $0.isBefore($1) }.prefix(limit))
  }

  /// How many things are urgent.
  package var urgentCount: Int {
    counts.filter { $0.key.isUrgent }.values.reduce(0, +)
  }

  package var count: Int { counts.values.reduce(0, +) }

  /// The payments of its accounts that pay twice.
  package func paidTwice(
    at now: Instant, of ledger: Ledger, reading reader: Reader
  ) throws -> [Identifier: PaidTwice] {
    var paid: [Identifier: PaidTwice] = [:]
    for item in items where item.kind == .doublePayment {
      guard let account = item.account else { continue }
      paid[account] = try PaidTwice(by: account, at: now, of: ledger, reading: reader)
    }
    return paid
  }

  // MARK: sources

  /// The rows of one kind, found by an index of only these rows.
  private struct Source {
    let kind: Attention.Kind
    let columns: String
    /// The query from FROM on.
    let found: String
    let order: String
    var values: [SQLValue] = []
    let decode: (borrowing Row) throws -> Attention

    /// The columns are an object, its owner, a detail and since when.
    static func objects(
      _ kind: Attention.Kind, _ columns: String, found: String, order: String,
      values: [SQLValue]
    ) -> Source {
      Source(kind: kind, columns: columns, found: found, order: order, values: values) { row in
        Attention(
          kind: kind, subject: try row.text(0), account: try row.optionalID(1),
          detail: try row.text(2), since: try row.instant(3))
      }
    }

    /// The columns are an account and since when.
    static func accounts(
      _ kind: Attention.Kind, _ columns: String, found: String, order: String,
      values: [SQLValue] = []
    ) -> Source {
      Source(kind: kind, columns: columns, found: found, order: order, values: values) { row in
        let account = try row.id(0)
        return Attention(
          kind: kind, subject: account.description, account: account, since: try row.instant(1))
      }
    }

    func rows(limit: Int, _ reader: Reader) throws -> [Attention] {
      try reader.rows(
        "SELECT \(columns) \(found) ORDER BY \(order) LIMIT $\(values.count + 1)",
        values: values + [.integer(limit)], row: decode)
    }

    func count(_ reader: Reader) throws -> Int {
      try reader.rows(
        "SELECT count(*) FROM (SELECT 1 \(found) LIMIT $\(values.count + 1)) AS found",
        values: values + [.integer(AttentionList.countMax)]
      ) { row in Int(try row.integer(0)) }.first ?? 0
    }
  }

  private static func sources(at now: Instant) -> [Source] {
    let since = now - toldSpan
    return Attention.Kind.derived.map { derived($0, at: now) } + [
      doublePayments, unknownAccounts(at: now),
      refusedClaims(after: now - RefusedClaims.keptSpan), deadJobs, failingItems,
      unconfirmed(at: now), overCap(at: now),
      stuckFlows(at: now), openOrders(at: now), unreconciled(at: now), unexported, fullMailboxes,
      divergingChains(at: now),
      deliveries(.conflictingDelivery, "conflicting > 0", after: since),
      deliveries(.undecodableDelivery, "disposition = 'undecodable'", after: since),
    ]
  }

  /// Excludes purchases whose acknowledgement the store confirmed, as `Ledger.isAcknowledged` does.
  /// Otherwise every healthy purchase would be listed for a minute.
  private static let isNotAcknowledged = """
    AND NOT EXISTS (SELECT 1 FROM billing.jobs AS j WHERE j.kind = '\(Ledger.acknowledgeJob)'
      AND j.object = a.object AND j.committed > 0 AND j.due_ms IS NULL AND j.dead = 0)
    """

  private static func derived(_ kind: Attention.Kind, at now: Instant) -> Source {
    // Of these the matter itself ends with the row, and not only its listing.
    let endsByItself = [.unacknowledged, .unowned, .contestedOwner].contains(kind)
    return Source(
      kind: kind, columns: "a.object, s.owner, a.about, a.since_ms, a.until_ms",
      found: """
        FROM billing.attention AS a LEFT JOIN billing.subscriptions AS s ON s.object = a.object
        WHERE a.kind = $1 AND a.until_ms > $2 \(kind == .unacknowledged ? isNotAcknowledged : "")
        """, order: "a.until_ms, a.since_ms, a.object",
      values: [.text(kind.rawValue), .instant(now)]
    ) { row in
      let until = try row.instant(4)
      return Attention(
        kind: kind, subject: try row.text(0), account: try row.optionalID(1),
        detail: try row.text(2), since: try row.instant(3),
        until: endsByItself && until < .distantFuture ? until : nil)
    }
  }

  private static var doublePayments: Source {
    .accounts(
      .doublePayment, "account_id, since_ms", found: "FROM billing.double_payments",
      order: "since_ms, account_id")
  }

  /// An account may be opened a little later than its first purchase is reported.
  private static let openingSpan = Instant.Span.hours(1)

  private static func unknownAccounts(at now: Instant) -> Source {
    .accounts(
      .unknownAccount, "u.account_id, u.since_ms",
      found: """
        FROM billing.unknown_accounts AS u WHERE u.since_ms <= $1 AND u.until_ms > $2
          AND NOT EXISTS (SELECT 1 FROM sync.accounts AS a WHERE a.id = u.account_id)
        """, order: "u.since_ms, u.account_id",
      values: [.instant(now - openingSpan), .instant(now)])
  }

  private static func refusedClaims(after start: Instant) -> Source {
    .objects(
      .refusedClaim, "object, account_id, '', refused_ms",
      found: "FROM billing.refused_claims WHERE refused_ms > $1", order: "refused_ms, object",
      values: [.instant(start)])
  }

  private static var deadJobs: Source {
    Source(
      kind: .deadJob, columns: "kind, object, last_error, failing_since_ms, unsettled_since_ms",
      found: "FROM billing.jobs WHERE dead = 1", order: "kind, object"
    ) { row in
      let (failing, unsettled) = (try row.optionalInstant(3), try row.optionalInstant(4))
      return Attention(
        kind: .deadJob, subject: "\(try row.text(0)) \(try row.text(1))",
        detail: try row.optionalText(2) ?? "",
        since: failing ?? unsettled ?? Instant(milliseconds: 0))
    }
  }

  /// One or two failures may have a cause that passes.
  private static let toldFailureCount: Int64 = 3

  private static var failingItems: Source {
    Source(
      kind: .failingItem, columns: "queue, item, account_id, reason, since_ms",
      found: "FROM sync.failing_items WHERE failure_count >= $1", order: "since_ms, queue, item",
      values: [.integer(toldFailureCount)]
    ) { row in
      Attention(
        kind: .failingItem, subject: "\(try row.text(0)) \(try row.id(1))",
        account: try row.optionalID(2), detail: try row.text(3), since: try row.instant(4))
    }
  }

  private static func unconfirmed(at now: Instant) -> Source {
    .objects(
      .unconfirmed, "u.object, s.owner, u.reason, u.since_ms",
      found: """
        FROM billing.unconfirmed AS u LEFT JOIN billing.subscriptions AS s ON s.object = u.object
        WHERE u.since_ms <= $1
        """, order: "u.since_ms, u.object", values: [.instant(now - Ledger.announcedSpan)])
  }

  private static func openOrders(at now: Instant) -> Source {
    Source(
      kind: .openOrder,
      columns: "o.number, s.owner, o.kind, o.subscription, coalesce(o.answer, ''), o.asked_ms",
      found: """
        FROM billing.orders AS o LEFT JOIN billing.subscriptions AS s ON s.object = o.subscription
        WHERE o.state IN ('open', 'doubted') AND o.asked_ms <= $1
        """, order: "o.asked_ms, o.number", values: [.instant(now - .hours(1))]
    ) { row in
      let answer = try row.text(4)
      return Attention(
        kind: .openOrder, subject: "billing:\(try row.integer(0))",
        account: try row.optionalID(1),
        detail: "\(try row.text(2)) of \(try row.text(3))"
          + (answer.isEmpty ? ", which was not asked yet" : ": \(answer)"),
        since: try row.instant(5))
    }
  }

  private static func stuckFlows(at now: Instant) -> Source {
    Source(
      kind: .stuckFlow, columns: "id, account_id, kind, step, step_ms",
      found: """
        FROM billing.flows WHERE closed_ms IS NULL AND status = 'running' AND step_ms <= $1
        """, order: "step_ms, id", values: [.instant(now - stepSpan)]
    ) { row in
      Attention(
        kind: .stuckFlow, subject: try row.id(0).description, account: try row.id(1),
        detail: "\(try row.text(2)) at \(try row.text(3))", since: try row.instant(4))
    }
  }

  private static func deliveries(
    _ kind: Attention.Kind, _ condition: String, after start: Instant
  ) -> Source {
    Source(
      kind: kind, columns: "provider, delivery_id, COALESCE(error, type), received_ms, id",
      found: "FROM billing.deliveries WHERE \(condition) AND received_ms > $1",
      order: "received_ms, id", values: [.instant(start)]
    ) { row in
      Attention(
        kind: kind, subject: "\(try row.text(0)) \(try row.text(1)) #\(try row.integer(4))",
        detail: try row.text(2), since: try row.instant(3))
    }
  }

  /// The number of caps, those that shrank last, that are compared with what is stored. Of a
  /// million payers a quarter lapses within a year, attention is queried every minute, and each of
  /// them may be read from another page.
  private static let shrunkCountMax = 5000

  /// Accounts above their cap since a plan ended or shrank, or a smaller plan or a quota replaced it.
  private static func overCap(at now: Instant) -> Source {
    Source(
      kind: .overCap, columns: "e.account_id, e.shrunk_ms, e.cap_bytes, a.usage_bytes",
      found: """
        FROM (SELECT account_id, from_ms, cap_bytes, shrunk_ms FROM billing.entitlements
            WHERE shrunk_ms > $1 AND shrunk_ms <= $2 AND from_ms <= $2
            ORDER BY shrunk_ms DESC, account_id DESC LIMIT \(shrunkCountMax)) AS e
          JOIN sync.accounts AS a ON a.id = e.account_id
        WHERE a.usage_bytes > e.cap_bytes
          AND NOT EXISTS (SELECT 1 FROM billing.entitlements AS later
            WHERE later.account_id = a.id AND later.from_ms > e.from_ms
              AND later.from_ms <= $2)
        """, order: "e.shrunk_ms, e.account_id",
      values: [.instant(now - overCapSpan), .instant(now)]
    ) { row in
      let account = try row.id(0)
      let (cap, usage) = (try row.integer(2), try row.integer(3))
      return Attention(
        kind: .overCap, subject: account.description, account: account,
        detail: "\(ByteCount.text(usage)) of \(ByteCount.text(cap))", since: try row.instant(1))
    }
  }

  /// How long a chain is listed after its last block was replaced.
  private static let divergingSpan = Instant.Span.days(1)

  private static func divergingChains(at now: Instant) -> Source {
    Source(
      kind: .divergingChain, columns: "id, owner_id, replaced_ms, replaced_epoch",
      found: "FROM sync.chains WHERE replaced_ms > $1 AND purge_ms IS NULL",
      order: "replaced_ms, id", values: [.instant(now - divergingSpan)]
    ) { row in
      Attention(
        kind: .divergingChain, subject: try row.id(0).description, account: try row.id(1),
        detail: "\(try row.integer(3))", since: try row.instant(2))
    }
  }

  private static var unexported: Source {
    .accounts(
      .unexported, "account_id, asked_ms",
      found: "FROM sync.account_deletions WHERE erase_ms IS NULL", order: "asked_ms, account_id")
  }

  /// Mailboxes in which nothing was acknowledged since a message found no room. Their senders were told.
  private static var fullMailboxes: Source {
    Source(
      kind: .fullMailbox,
      columns: "public_key, account_id, message_count, bytes, refused_count, refused_ms",
      found: "FROM sync.mailboxes WHERE refused_ms IS NOT NULL",
      order: "refused_ms, public_key"
    ) { row in
      Attention(
        kind: .fullMailbox, subject: Hex.encode(try row.blob(0)), account: try row.id(1),
        detail: "\(try row.integer(2)) messages with \(ByteCount.text(try row.integer(3))), and "
          + "\(try row.integer(4)) were refused", since: try row.instant(5))
    }
  }

  /// A page that fails for this long is not a temporary problem of the store.
  private static let unreconciledSpan = Instant.Span.hours(6)

  private static func unreconciled(at now: Instant) -> Source {
    .objects(
      .unreconciled, "object, NULL, coalesce(last_error, ''), failing_since_ms",
      found: "FROM billing.jobs WHERE kind = $1 AND failing_since_ms <= $2",
      order: "failing_since_ms, object",
      values: [.text(Reconciliation.job), .instant(now - unreconciledSpan)])
  }

  /// One item for each store with unanswered reads, regardless of their number. Reads that failed
  /// permanently are listed separately.
  private static func unanswered(of stores: StoreList, _ reader: Reader) throws -> [Attention] {
    try stores.compactMap { store in
      let name = store.provider.rawValue
      let found = try reader.first(
        """
        SELECT count(*), min(since_ms) FROM (SELECT u.since_ms FROM billing.unanswered AS u
          WHERE u.object >= $1 AND u.object < $2
            AND NOT EXISTS (SELECT 1 FROM billing.jobs AS j
              WHERE j.kind = $3 AND j.object = u.object AND j.dead = 1)
          LIMIT $4) AS found
        """, .text(name + ":"), .text(name + ";"), .text(Ledger.readJob), .integer(countMax)
      ) { row in (try row.integer(0), try row.optionalInstant(1)) }
      let others = try unread(of: name, reader)
      let count = (found?.0 ?? 0) + Int64(others.count)
      guard let first = ([found?.1] + others.map(\.since)).compactMap({ $0 }).min() else {
        return nil
      }
      // A refused key or a missing object is not an outage of the store. The error's text shows the
      // difference.
      let words =
        try reader.first(
          """
          SELECT j.last_error FROM billing.unanswered AS u
            JOIN billing.jobs AS j ON j.kind = $3 AND j.object = u.object
          WHERE u.object >= $1 AND u.object < $2 AND j.dead = 0 LIMIT 1
          """, .text(name + ":"), .text(name + ";"), .text(Ledger.readJob)
        ) { row in try row.optionalText(0) }.flatMap { $0 } ?? others.first?.error
      return Attention(
        kind: .storeUnanswered, subject: name,
        detail: (count == 1 ? "1 read" : "\(count) reads") + (words.map { ", e.g. \($0)" } ?? ""),
        since: first, cause: words.map { APIFailure.Cause(told: $0) })
    }
  }

  /// Failing reads of objects without derived state, which a delivery or a claim began. A store
  /// that refuses a single object has answered: anyone may claim a purchase that never existed.
  private static func unread(
    of store: String, _ reader: Reader
  ) throws -> [(since: Instant, error: String)] {
    try reader.rows(
      """
      SELECT j.failing_since_ms, j.last_error FROM (
        SELECT object, failing_since_ms, last_error FROM billing.jobs
        WHERE kind = $1 AND object >= $2 AND object < $3 AND failing_since_ms IS NOT NULL
          AND due_ms IS NOT NULL
        ORDER BY object LIMIT $4) AS j
      WHERE NOT EXISTS (SELECT 1 FROM billing.unanswered AS u WHERE u.object = j.object)
      """, .text(Ledger.readJob), .text(store + ":"), .text(store + ";"), .integer(countMax)
    ) { row in (since: try row.instant(0), error: try row.optionalText(1) ?? "") }
    .filter { APIFailure.Cause(told: $0.error) != .object }
  }

  private static func certificates(of stores: StoreList, at now: Instant) -> [Attention] {
    stores.flatMap { store in
      store.certificates.filter { $0.notAfter < now + certificateSpan }.map { certificate in
        Attention(
          kind: .certificate, subject: store.provider.rawValue, detail: certificate.name,
          since: certificate.notAfter - certificateSpan, until: certificate.notAfter)
      }
    }
  }
}

extension Attention {
  fileprivate func isBefore(_ other: Attention) -> Bool {
    let (end, otherEnd) = (until ?? .distantFuture, other.until ?? .distantFuture)
    return (kind.rank, end, since, subject, detail)
      < (other.kind.rank, otherEnd, other.since, other.subject, other.detail)
  }
}

extension Attention.Kind {
  fileprivate var rank: Int { Self.allCases.firstIndex(of: self)! }
}
