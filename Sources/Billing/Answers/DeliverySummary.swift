package import Base
import Ledger
package import Storage
package import Stores
package import Subscriptions
package import Tiers

/// A stored delivery as an operator sees it, without the sealed part.
package struct DeliverySummary: Sendable {
  /// Its position among deliveries and decisions.
  package let number: Int64
  package let provider: ObjectKey.Provider
  /// Nil if it could not be read.
  package let environment: StoreEnvironment?
  package let deliveryID: String
  package let type: String
  package let apiVersion: String?
  /// The store's id of the object that it is about.
  package let object: String?
  package let created: Instant?
  package let received: Instant
  package let disposition: DecodedDelivery.Disposition
  /// Whether the same id came before with another meaning.
  package let isConflicting: Bool
  package let redeliveryCount: Int64
  /// When it last arrived again; nil if it never did.
  package let redelivered: Instant?
  /// The secret or key that proved it; nil for an answer to a read.
  package let proof: String?

  /// Why it could not be decoded; nil if it could.
  package let error: String?

  package enum Origin: String, Sendable {
    case webhook
    /// A list from its store, in which a reconciliation found something that no webhook had brought.
    case list
    /// An answer to a read of ours.
    case read
    /// A purchase that a client posted.
    case claim
  }

  /// How it first arrived, as its id or its proof shows.
  package var origin: Origin {
    if deliveryID.hasPrefix("read:") { return .read }
    if deliveryID.hasPrefix("client:") { return .claim }
    return proof.map(StoreListing.isProof) == true ? .list : .webhook
  }

  /// The columns that `init` reads, in its order.
  private static let columns = """
    id, provider, environment, delivery_id, type, api_version, object, created_ms, received_ms,
    disposition, conflicting, redelivery_count, redelivered_ms, proof, error
    """

  private init(_ row: borrowing Row) throws {
    number = try row.integer(0)
    provider = try row.word(1)
    environment = StoreEnvironment(rawValue: try row.text(2))
    deliveryID = try row.text(3)
    type = try row.text(4)
    apiVersion = try row.optionalText(5)
    object = try row.optionalText(6)
    created = try row.optionalInstant(7)
    received = try row.instant(8)
    disposition = try row.word(9)
    isConflicting = try row.integer(10) > 0
    redeliveryCount = try row.integer(11)
    redelivered = try row.optionalInstant(12)
    proof = try row.optionalText(13)
    error = try row.optionalText(14)
  }

  /// All deliveries with one id, from one or more stores, in the order of their arrival.
  package static func find(
    _ deliveryID: String, of stores: [any Store], reading database: some Queryable
  ) throws -> [DeliverySummary] {
    try stores.flatMap { store in
      try database.rows(
        """
        SELECT \(columns) FROM billing.deliveries
        WHERE provider = $1 AND environment IN ('live', 'sandbox', 'unknown') AND delivery_id = $2
        ORDER BY id LIMIT 100
        """, .text(store.provider.rawValue), .text(deliveryID)
      ) { row in try DeliverySummary(row) }
    }
  }

  /// The deliveries that a text names. It can be a number, as `#17`, or as `17` if no store has
  /// that id. It can be an id as stored here or as its store shows it.
  package static func named(
    _ text: String, of stores: [any Store], reading database: some Queryable
  ) throws -> [DeliverySummary] {
    let isNumber = text.hasPrefix("#")
    var found = isNumber ? [] : try find(text, of: stores, reading: database)
    if found.isEmpty, let number = Int64(isNumber ? text.dropFirst() : text[...]) {
      found = [try find(number: number, reading: database)].compactMap { $0 }
    }
    guard found.isEmpty else { return found }
    return try stores.filter(\.traits.deliveriesNameWebhook).flatMap { store in
      try webhooks(of: store, reading: database).flatMap { webhook in
        try find("\(webhook):\(text)", of: [store], reading: database)
      }
    }
  }

  /// No one has more webhooks.
  private static let webhookCountMax = 100

  /// The webhooks with which the ids of a store's deliveries begin. The index finds each by reading one row.
  private static func webhooks(
    of store: any Store, reading database: some Queryable
  ) throws -> [String] {
    var found: [String] = []
    // Ids without a colon count, too. If they were not bounded here, each would be one more read.
    var lookedAtCount = 0
    for environment in StoreEnvironment.allCases {
      var behind = ""
      while lookedAtCount < webhookCountMax,
        let id = try database.first(
          """
          SELECT delivery_id FROM billing.deliveries
          WHERE provider = $1 AND environment = $2 AND delivery_id > $3
          ORDER BY delivery_id LIMIT 1
          """, .text(store.provider.rawValue), .text(environment.rawValue), .text(behind),
          row: { row in try row.text(0) })
      {
        lookedAtCount += 1
        let webhook = String(id.prefix { $0 != ":" })
        if webhook != id { found.append(webhook) }
        // `;` is the character after `:`.
        behind = webhook == id ? id : webhook + ";"
      }
    }
    return found
  }

  package static func find(
    number: Int64, reading database: some Queryable
  ) throws -> DeliverySummary? {
    try database.first(
      "SELECT \(columns) FROM billing.deliveries WHERE id = $1", .integer(number)
    ) { row in try DeliverySummary(row) }
  }

  /// Deliveries among which are all that a filter selects, newest first, from `first` to below
  /// `number`. With `objects`, those about any of these.
  package static func candidates(
    for filter: DeliveryFilter, about objects: [String]?, below number: Int64, from first: Int64,
    sandboxCounts: Bool, reading database: some Queryable
  ) throws -> [DeliverySummary] {
    func found(where condition: String, _ values: [SQLValue] = []) throws -> [DeliverySummary] {
      try database.rows(
        """
        SELECT \(columns) FROM billing.deliveries
        WHERE \(condition) id < $1 AND id >= $2 ORDER BY id DESC LIMIT $3
        """,
        values: [.integer(number), .integer(first), .integer(filter.readCountMax)] + values
      ) { row in try DeliverySummary(row) }
    }
    if let objects {
      return try SQLList.slices(of: objects.map { .text($0) }, after: 3).flatMap { list in
        try found(where: "object IN (\(list.parameters)) AND", list.values)
      }.sorted { $0.number > $1.number }
    }
    if filter.isWithoutEffect {
      let dispositions = try found(
        where: """
          (disposition = 'foreign' OR disposition = 'premature' OR disposition = 'undecodable') AND
          """)
      let sandbox = sandboxCounts ? [] : try found(where: "environment = 'sandbox' AND")
      let known = Set(dispositions.map(\.number))
      return (dispositions + sandbox.filter { !known.contains($0.number) })
        .sorted { $0.number > $1.number }
    }
    return try filter.type.map { try found(where: "type = $4 AND", [.text($0)]) }
      ?? found(where: "")
  }

  /// The numbers after `number` of deliveries that could not be decoded on arrival, ascending.
  package static func undecodable(
    of provider: ObjectKey.Provider?, after number: Int64, reading reader: Reader
  ) throws -> [Int64] {
    try reader.rows(
      "SELECT id, provider FROM billing.deliveries WHERE disposition = 'undecodable' AND id > $1",
      .integer(number)
    ) { row in (id: try row.integer(0), provider: try row.text(1)) }
    .filter { provider == nil || $0.provider == provider?.rawValue }.map(\.id).sorted()
  }
}
