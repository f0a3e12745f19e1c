import Base
import Storage
import TestEngines
import Testing

/// The recovery of an account as operators see it, and refuse it.
struct RecoveryCommandTests: CommandSuite {
  private static let now = Instant(seconds: 1_772_445_300)
  private static let account = "0b5c0a2e-0000-4000-8000-000000000001"

  private let scratch: ScratchDirectory
  let environment: [String: String]

  /// Creates Ada with a recovery key that has asked.
  init() throws {
    let installation = try ScratchInstallation(at: Self.now)
    (scratch, environment) = (installation.scratch, installation.environment)
    try createAccounts(["ada": Self.account], in: scratch)
    let id = SQLValue.id(try #require(Identifier(Self.account)))
    let (key, at) = (SQLValue.blob([UInt8](repeating: 7, count: 32)), SQLValue.instant(Self.now))
    let opens = SQLValue.instant(Self.now + .days(3))
    try scratch.establishHistory()
    try scratch.change(
      .sync,
      (
        """
        INSERT INTO sync.recovery_keys
          (account_id, number, public_key, delay_days, named_ms, statement_created_s,
           statement_author, statement_signature, statement_proof)
        VALUES ($1, 1, $2, 3, $3, 1, $2, $2, $2)
        """, [id, key, at]
      ),
      (
        """
        INSERT INTO sync.recoveries
          (account_id, number, recovery_key, state, asked_ms, opens_ms, look_ms, history_id)
        SELECT $1, 1, $2, 'waiting', $3, $4, $4, history_id FROM sync.history
        """, [id, key, at, opens]
      ))
  }

  @Test func `an account shows its recovery key and what waits, until that is refused`() throws {
    let shown = try coffer("account", "show", "ada").out
    #expect(
      shown.contains("recovery   a key named \(Self.now), with 3 days to refuse; waits until"))
    let opens = Self.now + .days(3)
    let json = try coffer("account", "show", "ada", "--json").out
    #expect(json.contains(#""recovery_opens":"\#(opens)""#), "\(json)")
    let asked = try coffer("recovery", "refuse", "ada", "--reason", "ticket 4")
    #expect(asked.code != 0)
    #expect(try coffer("account", "show", "ada").out.contains("waits until \(opens)"))
    let refused = try coffer("recovery", "refuse", "ada", "--reason", "ticket 4", "--yes")
    #expect(refused.code == 0, "\(refused.errors)")
    #expect(!(try coffer("account", "show", "ada").out.contains("waits until")))
    #expect(try coffer("audit", "list", "--account", "ada").out.contains("recovery refuse"))
    let again = try coffer("recovery", "refuse", "ada", "--reason", "ticket 4", "--yes")
    #expect(again.errors.contains("no recovery"), "\(again.errors)")
  }
}
