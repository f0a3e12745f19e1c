package import Base
package import Crypto
package import JSON
internal import Jobs
package import Storage
internal import Stores
package import Subscriptions

/// What an account takes along of the ledger when it moves to another Coffer: its subscriptions, the
/// deliveries that tell of them, and what was decided.
package struct Belongings: Sendable {
  /// In ascending order.
  package let subscriptions: [ObjectKey]
  /// Grants, quotas, and how the subscriptions became the account's; in their order.
  package let decided: [Decided]
  /// In the order in which they came.
  package let deliveries: [DeliverySummary]
}

extension Ledger {
  /// Nobody has more deliveries that still say something.
  private static let deliveryCountMax = 10_000

  package func belongings(
    of account: Identifier, reading reader: Reader
  ) throws -> Belongings {
    let subscriptions = try reader.rows(
      "SELECT object FROM billing.subscriptions WHERE owner = $1 ORDER BY object LIMIT 1000",
      .id(account)
    ) { row in try row.text(0) }.compactMap { ObjectKey($0) }
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
    let objects = try Set(subscriptions.flatMap { try self.reading(reader).objects(of: $0) })
    var numbers: Set<Int64> = []
    for list in SQLList.slices(of: objects.sorted().map { .text($0.description) }, after: 0) {
      for query in [
        "SELECT DISTINCT delivery FROM billing.mirrors WHERE object IN (\(list.parameters))",
        "SELECT DISTINCT delivery FROM billing.links WHERE target IN (\(list.parameters))",
      ] {
        numbers.formUnion(
          try reader.rows(query, values: list.values) { row in try row.integer(0) })
      }
    }
    return Belongings(
      subscriptions: subscriptions, decided: decided,
      deliveries: try numbers.sorted().prefix(Self.deliveryCountMax).compactMap {
        try DeliverySummary.find(number: $0, reading: reader)
      })
  }

  /// The secret that a purchase is read by; nil where it needs none. Throws a `CryptoError` where the
  /// keys do not open it.
  package func secret(
    of key: ObjectKey, _ sealing: SealingKeys, reading reader: Reader
  ) throws -> Secret? {
    guard let payload = try Jobs.payload(Self.readJob, key.description, reading: reader) else {
      return nil
    }
    return Secret(try sealing.open(payload, context: PreparedDelivery.payloadContext(key)))
  }

  /// Keeps a delivery that another Coffer kept, as if it had come here then; what it was numbered as an
  /// answer is not given to another one.
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

  /// Keeps what another Coffer decided, under its ids, and derives what follows; what is here already
  /// stays as it is.
  package func takeIn(
    _ decided: [Decided], of account: Identifier, at now: Instant, in transaction: Transaction
  ) throws {
    var concerned: Set<ObjectKey> = []
    for one in decided {
      let sequence = try DeliveryRow.nextNumber(in: transaction)
      try keep(one.decision, as: one.id, sequence: sequence, at: one.at, in: transaction)
      concerned.formUnion(try affected(by: one.decision, reading: transaction))
    }
    try derive(concerned.sorted(), cause: .owner, entry: nil, at: now, in: transaction)
    try schedule(account, at: now, in: transaction)
  }

  /// Has a purchase read here from now on, by the secret that came with it.
  package func takeIn(
    _ key: ObjectKey, payload: [UInt8], at now: Instant, in transaction: Transaction
  ) throws {
    try Jobs.request(Self.readJob, key.description, payload: payload, due: now, in: transaction)
  }
}

extension Decided {
  package init(id: Identifier, at: Instant, _ decision: Decision) {
    self.id = id
    sequence = 0
    self.at = at
    self.decision = decision
  }

  /// As an archive tells it: `kind`, what it is about, and its content as it is kept.
  package var json: JSONValue {
    [
      "id": .string(id.description), "at_ms": .integer(at.milliseconds),
      "kind": .string(decision.kind),
      "object": decision.object.map { .string($0.description) } ?? .null,
      "content": decision.content,
    ]
  }

  /// Reads what `json` wrote.
  package init(_ json: JSON, of account: Identifier) throws {
    guard let id = Identifier(try json["id"].requireString()),
      let content = JSONValue(json["content"])
    else { throw DatabaseError.statement("a decision is not readable") }
    self.init(
      id: id, at: Instant(milliseconds: try json["at_ms"].requireInteger()),
      try Decision(
        kind: try json["kind"].requireString(), account: account, object: json["object"].string,
        content: String(decoding: content.encoded(), as: UTF8.self)))
  }
}
