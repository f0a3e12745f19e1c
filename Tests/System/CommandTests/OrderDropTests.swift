import Base
import Jobs
import Storage
import TestEngines
import Testing

/// An order that a store may have carried out, and that only a read could decide.
struct OrderDropTests: CommandSuite {
  private static let now = Instant(seconds: 1_790_000_000)
  private static let drop = ["jobs", "drop", "order", "12", "--reason", "Stripe was left", "--yes"]

  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        """
        INSERT INTO billing.orders (number, subscription, kind, payment, state, asked_ms, tried_ms)
        VALUES (12, 'stripe:live:subscription:sub_1', 'refund', 'in_1', 'doubted', $1, $1)
        """, .instant(Self.now - .days(2)))
      try Jobs.request("order", "12", due: Self.now - .days(1), in: transaction)
    }
  }

  private func state() throws -> String? {
    let database = try scratch.database(of: .billing)
    defer { database.close() }
    return try database.read { reader in
      try reader.first("SELECT state FROM billing.orders WHERE number = 12") { row in
        try row.text(0)
      }
    }
  }

  @Test func `it fails with its job once coffer-billing had no key to ask its store with`() throws {
    try scratch.change(.billing) { transaction in
      try transaction.execute(
        "UPDATE billing.jobs SET last_error = $1 WHERE kind = 'order'",
        .text("no key of its store's API is configured"))
    }
    let dropped = try Finished(Self.drop, environment: environment)
    #expect(dropped.code == 0, "\(dropped.errors)")
    #expect(try state() == "failed")
  }

  /// Only the settings of coffer-billing decide.
  @Test func `it waits as long as coffer-billing may ask, though the operator's shell has no key`()
    throws
  {
    let refused = try Finished(Self.drop, environment: environment)
    #expect(refused.errors.contains("is waiting, not dead"), "\(refused.errors)")
    #expect(try state() == "doubted")
  }
}
