import Base
import Goldens
import Jobs
import Storage
import TestEngines
import Testing

/// The commands by which operators see flows and act on them.
struct FlowCommandTests: CommandSuite {
  private static let now = Instant(seconds: 1_790_000_000)
  private static let stuck = "0190a5e0-0000-7000-8000-00000000f001"
  private static let waiting = "0190a5e0-0000-7000-8000-00000000f002"
  private static let account = "0190a5e0-0000-7000-8000-00000000a001"

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Adds one flow that Stripe has not answered for two hours, and one that has waited for its client for a
  /// minute.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try scratch.change(.billing) { transaction in
      try Self.insert(
        Self.stuck, of: Self.account, "subscribe", "running", since: Self.now - .hours(2),
        in: transaction)
      try Self.insert(
        Self.waiting, of: "0190a5e0-0000-7000-8000-00000000a002", "await_payment",
        "requires_action", since: Self.now - .minutes(1), in: transaction)
      try Jobs.request("flow", Self.stuck, due: Self.now - .hours(2), in: transaction)
      for lease in try Jobs.lease("flow", limit: 1, now: Self.now - .hours(2), in: transaction) {
        try lease.retry(
          .transient("the provider answers 503", retryAfter: nil), now: Self.now, in: transaction)
      }
    }
  }

  private static func insert(
    _ id: String, of account: String, _ step: String, _ status: String, since: Instant,
    in transaction: Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO billing.flows (id, account_id, kind, asked, exclusive, step, state, status,
        revision, created_ms, step_ms)
      VALUES ($1, $2, 'subscribe', $3, 1, $4, $5, $6, 0, $7, $7)
      """, .id(Identifier(id)), .id(Identifier(account)),
      .text(#"{"interval":"month","kind":"subscribe","payment_method":"pm_1","plan":"premium"}"#),
      .text(step), .text(#"{"customer":"cus_1","price":"price_1"}"#), .text(status),
      .instant(since))
  }

  @Test func `flows are listed, the longest at their step first`() throws {
    try expectGolden(try coffer("flow", "list").out, "flow-list")
  }

  @Test func `a flow says what it waits for`() throws {
    try expectGolden(try coffer("flow", "show", Self.stuck).out, "flow-show")
    #expect(try coffer("flow", "show", Self.waiting).out.contains("its client"))
  }

  @Test func `a page of flows says how the next one is had`() throws {
    let first = try coffer("flow", "list", "--limit", "1")
    #expect(first.errors.contains("1 of 2 flows; continue with --after \(Self.stuck)"))
    let second = try coffer("flow", "list", "--after", Self.stuck)
    #expect(second.out.contains(Self.waiting) && !second.out.contains(Self.stuck))
    #expect(try coffer("flow", "list", "--account", Self.account).out.contains(Self.stuck))
  }

  @Test func `one that does not go on wants a human, one that waits for its client does not`()
    throws
  {
    let attention = try coffer("attention")
    #expect(attention.out.contains("stuck_flow") && attention.out.contains(Self.stuck))
    #expect(!attention.out.contains(Self.waiting))
    #expect(attention.code == 2)
  }

  @Test func `a flow is retried at once`() throws {
    #expect(try coffer("flow", "retry", Self.stuck).out == "retried  \(Self.stuck)\n")
    #expect(try coffer("jobs", "list").out.contains(Self.stuck))
  }

  @Test func `a flow is dropped once, after a yes`() throws {
    let shown = try coffer("flow", "drop", Self.stuck, "--reason", "support")
    #expect(shown.code == 3)
    let done = try coffer("flow", "drop", Self.stuck, "--reason", "support", "--yes")
    #expect(done.code == 0, "\(done.errors)")
    #expect(try coffer("flow", "show", Self.stuck).out.contains("dropped_by_operator"))
    let again = try coffer("flow", "drop", Self.stuck, "--reason", "support", "--yes")
    #expect(again.code == 1 && again.errors.contains("is over"))
    #expect(try coffer("flow", "retry", Self.stuck).code == 1)
  }

  @Test func `an open flow keeps its job until the flow is dropped`() throws {
    let job = ["jobs", "drop", "flow", Self.stuck, "--reason", "support", "--yes"]
    let refused = try Finished(job, environment: environment)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("coffer flow drop \(Self.stuck)"), "\(refused.errors)")
  }

  @Test func `what is no flow is refused in a line`() throws {
    #expect(try coffer("flow", "show", "x").code == 64)
    let unknown = try coffer("flow", "show", Self.account)
    #expect(unknown.code == 1 && unknown.errors.contains("there is no flow"))
    #expect(try coffer("flow", "list", "--after", Self.account).code == 1)
  }
}
