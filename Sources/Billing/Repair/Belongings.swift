package import Answers
package import Base
package import Crypto
package import JSON
import Jobs
package import Ledger
package import Storage
import Stores
package import Subscriptions

/// The part of the ledger that moves with an account to another Coffer: its subscriptions, the
/// deliveries about them, and the decisions.
package struct Belongings: Sendable {
  /// In ascending order.
  package let subscriptions: [ObjectKey]
  /// Grants, quotas, and the decisions that made the subscriptions the account's; in their order.
  package let decided: [Decided]
  /// In the order of their arrival, without those whose bodies were erased.
  package let deliveries: [DeliverySummary]
  /// The number of deliveries whose bodies were erased with an earlier owner.
  package let erasedCount: Int
  /// The subscriptions that the erased deliveries were about. Only their stores can report this
  /// again. In ascending order.
  package let erased: [ObjectKey]
}

extension Ledger {
  package func belongings(
    of account: Identifier, reading reader: Reader
  ) throws -> Belongings {
    let subscriptions = try self.reading(reader).subscriptions(ownedBy: account, countMax: 1000)
    let decided = try reader.rows(
      """
      SELECT \(Decided.columns) FROM billing.decisions WHERE account_id = $1
      ORDER BY sequence LIMIT 10000
      """, .id(account)
    ) { row in try Decided(row) }.filter { decided in
      switch decided.decision {
      case .claim(_, let object), .transfer(_, let object, _): subscriptions.contains(object)
      case .accountDeleted: false
      case .grant, .ungrant, .quota, .quotaCleared: true
      }
    }
    let told = try deliveries(tellingOf: subscriptions, reading: reader)
    let numbers = told.keys.sorted()
    let erased = try Self.erased(among: numbers, reading: reader)
    return Belongings(
      subscriptions: subscriptions,
      decided: try decided.map { try onItsOwn($0, reading: reader) },
      deliveries: try numbers.filter { !erased.contains($0) }.compactMap {
        try DeliverySummary.find(number: $0, reading: reader)
      },
      erasedCount: erased.count,
      erased: Set(erased.flatMap { told[$0] ?? [] }).sorted())
  }

  /// The numbers of the deliveries that say something about subscriptions, each with these subscriptions.
  private func deliveries(
    tellingOf subscriptions: [ObjectKey], reading reader: Reader
  ) throws -> [Int64: Set<ObjectKey>] {
    var whole: [String: Set<ObjectKey>] = [:]
    for key in subscriptions {
      for object in try self.reading(reader).objects(of: key, countMax: .max) {
        whole[object.description, default: []].insert(key)
      }
    }
    var told: [Int64: Set<ObjectKey>] = [:]
    for list in SQLList.slices(of: whole.keys.sorted().map { .text($0) }, after: 0) {
      for query in [
        "SELECT DISTINCT delivery, object FROM billing.mirrors WHERE object IN (\(list.parameters))",
        "SELECT DISTINCT delivery, target FROM billing.links WHERE target IN (\(list.parameters))",
      ] {
        let rows = try reader.rows(query, values: list.values) { row in
          (number: try row.integer(0), object: try row.text(1))
        }
        for row in rows { told[row.number, default: []].formUnion(whole[row.object] ?? []) }
      }
    }
    return told
  }

  private static func erased(among numbers: [Int64], reading reader: Reader) throws -> Set<Int64> {
    try Set(
      SQLList.slices(of: numbers.map { .integer($0) }, after: 0).flatMap { list in
        try reader.rows(
          """
          SELECT id FROM billing.deliveries
          WHERE id IN (\(list.parameters)) AND length(sealed) = 0
          """, values: list.values
        ) { row in try row.integer(0) }
      })
  }

  /// Returns a decision with the same effect and id at a Coffer that does not know of a deleted
  /// account. A claim made after the deletion would give way there to that account, if the store or
  /// an earlier purchase names it, so a transfer replaces it.
  private func onItsOwn(_ decided: Decided, reading reader: Reader) throws -> Decided {
    guard case .claim(let account, let key) = decided.decision else { return decided }
    let subscription = try reading(reader).subscription(key)
    guard subscription.ownership.evidence == .claim(sequence: decided.sequence),
      !subscription.candidates.isEmpty
    else { return decided }
    let note = "claimed after the account was deleted that it was bought for"
    return Decided(id: decided.id, at: decided.at, decision: .transfer(account, key, note: note))
  }

  /// The secret for reading a purchase; nil if it needs none. Throws a `CryptoError` if no key opens it.
  package func secret(
    of key: ObjectKey, _ sealing: SealingKeys, reading reader: Reader
  ) throws -> Secret? {
    guard let payload = try Jobs.payload(Self.readJob, key.description, reading: reader) else {
      return nil
    }
    return Secret(try sealing.open(payload, context: PreparedDelivery.payloadContext(key)))
  }

  /// Records deliveries that another Coffer kept, as if they had arrived here at that time. Their
  /// read numbers as answers are not given to other reads.
  package func takeIn(_ deliveries: [PreparedDelivery], in transaction: Transaction) throws {
    for delivery in deliveries {
      let kept = KeptMessage(
        deliveryID: delivery.decoded.deliveryID, environment: nil, received: delivery.received,
        isForeign: false, body: [])
      guard let read = kept.read else { continue }
      try Jobs.pass(
        Self.readJob, read.key.description, through: read.readNumber, in: transaction)
    }
    _ = try record(deliveries, in: transaction)
  }

  /// Why decisions that another Coffer sent for an account are refused, in one sentence. Nil if
  /// they are as `belongings` returns them and could have been made here.
  package func refusal(
    of decided: [Decided], with subscriptions: [ObjectKey], at now: Instant
  ) -> String? {
    let (own, grants) = (Set(subscriptions), Self.grants(among: decided))
    for one in decided {
      let what = "the decision \(one.id), \(one.decision.kind)"
      guard (Instant(milliseconds: 0)...now + .days(1)).contains(one.at) else {
        return "\(what), is of \(one.at)"
      }
      if let object = one.decision.object, !own.contains(object) {
        return "\(what), is of \(object), which does not come along"
      }
      if case .ungrant(_, let grant, _) = one.decision, !grants.contains(grant) {
        return "\(what), is of a grant that does not come along"
      }
      if let refusal = one.decision.refusal(under: rules.catalogue, at: now) {
        return "\(what), cannot be taken in: \(refusal)"
      }
    }
    return nil
  }

  private static func grants(among decided: [Decided]) -> Set<Identifier> {
    Set(decided.filter { if case .grant = $0.decision { true } else { false } }.map(\.id))
  }

  /// Records another Coffer's decisions under their ids, and derives what follows. Decisions that
  /// are already here stay as they are.
  package func takeIn(
    _ decided: [Decided], of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    var concerned: Set<ObjectKey> = []
    for one in decided {
      let sequence = try LedgerSequence.take(in: transaction)
      try write(one.decision, as: one.id, sequence: sequence, at: one.at, in: transaction)
      concerned.formUnion(try affected(by: one.decision, reading: transaction))
    }
    try derive(concerned.sorted(), cause: .owner, entry: nil, at: now, in: transaction)
    try writeSchedule(of: account, at: now, in: transaction)
  }

  /// Requests reads of a purchase here from now on, with the secret that came with it.
  package func takeIn(
    _ key: ObjectKey, payload: [UInt8], at now: Instant, in transaction: Transaction
  ) throws {
    try Jobs.request(Self.readJob, key.description, payload: payload, due: now, in: transaction)
  }
}

extension Decided {
  /// The decision as stored in an archive: `kind`, its object, and its content as stored here.
  package var json: JSONValue {
    [
      "id": .string(id.description), "at_ms": .integer(at.milliseconds),
      "kind": .string(decision.kind),
      "object": decision.object.map { .string($0.description) } ?? .null,
      "content": decision.content,
    ]
  }

  /// Reads what `json` returned.
  package init(_ json: JSON, of account: Identifier) throws {
    guard let id = Identifier(try json["id"].requireString()),
      let content = JSONValue(json["content"])
    else { throw DatabaseError.statement("a decision is not readable") }
    self.init(
      id: id, at: Instant(milliseconds: try json["at_ms"].requireInteger()),
      decision: try Decision(
        kind: try json["kind"].requireString(), account: account, object: json["object"].string,
        content: String(decoding: content.encoded(), as: UTF8.self)))
  }
}
