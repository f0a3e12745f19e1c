import Base
import Storage
import TestEngines
import Testing

/// Commands of operators about accounts whose deletion was requested.
struct LeavingCommandTests: CommandSuite {
  private static let reason = ["--reason", "ticket 4", "--yes"]

  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws {
    let installation = try ScratchInstallation(at: Instant(seconds: 1_772_445_300))
    (scratch, environment) = (installation.scratch, installation.environment)
    _ = try coffer("migrate")
    let created = try coffer(
      "account", "create", "--username", "ada", "--key-file", scratch.path + "/ada.key")
    #expect(created.code == 0, "\(created.errors)")
  }

  private func act(_ words: String...) throws -> Finished {
    try Finished(words + Self.reason, environment: environment)
  }

  @Test func `an account that leaves can be suspended, and stays so when it is kept`() throws {
    #expect(try act("account", "delete", "ada").code == 0)
    let suspended = try act("account", "suspend", "ada", "--json")
    #expect(suspended.code == 0, "\(suspended.errors)")
    #expect(suspended.out.contains(#""before":{"writes":"refused","suspended":null}"#))
    #expect(try act("account", "suspend", "ada").code == 1)
    let shown = try coffer("account", "show", "ada").out
    #expect(shown.contains("suspended  2026-03-02T09:55:00Z\ndeletion   waiting"))
    let kept = try act("deletion", "cancel", "ada", "--json")
    #expect(kept.code == 0, "\(kept.errors)")
    #expect(kept.out.contains(#""after":{"state":"kept","writes":"refused"}"#))
    #expect(try act("account", "resume", "ada").code == 0)
  }

  @Test func `an account that leaves is listed as suspended only if an operator suspended it`()
    throws
  {
    #expect(try act("account", "delete", "ada").code == 0)
    let own = try coffer("account", "list", "--suspended", "--json")
    #expect(own.code == 0 && !own.out.contains(#""username":"ada""#), "\(own.out)\(own.errors)")
    #expect(try act("account", "suspend", "ada").code == 0)
    #expect(try coffer("account", "list", "--suspended").out.contains("suspended, waiting"))
  }

  @Test func `nothing lets an account write again whose end is waited for`() throws {
    #expect(try act("account", "delete", "ada").code == 0)
    let refused = try act("account", "resume", "ada")
    #expect(refused.code == 1)
    #expect(refused.errors.contains("its deletion was requested; coffer deletion cancel keeps it"))
    #expect(try coffer("account", "show", "ada").out.contains("suspended  -\ndeletion   waiting"))
  }

  @Test func `an explanation says why nothing can be written, whatever is paid`() throws {
    #expect(try act("account", "suspend", "ada").code == 0)
    let suspended = try coffer("entitlement", "explain", "ada").out
    #expect(
      suspended.split(separator: "\n").joined(separator: " ")
        .contains("nothing can be written now, as it was suspended on 2026-03-02 09:55 UTC."))
    #expect(try act("account", "resume", "ada").code == 0)
    #expect(try act("account", "delete", "ada").code == 0)
    let leaving = try coffer("entitlement", "explain", "ada", "--json").out
    #expect(leaving.contains(#""suspended":null,"leaving":"2026-03-02T09:55:00Z""#))
    #expect(leaving.contains("it is erased from 2026-03-09 09:55 UTC on"))
  }

  @Test func `a second end is refused, unless it is to come sooner`() throws {
    #expect(try act("account", "delete", "ada").code == 0)
    let again = try act("account", "delete", "ada")
    #expect(again.code == 1)
    #expect(again.errors.contains("it is erased from 2026-03-09T09:55:00Z on"))
    let sooner = try act("account", "delete", "ada", "--now", "--json")
    #expect(sooner.code == 0, "\(sooner.errors)")
    #expect(
      sooner.out.contains(#""before":{"state":"waiting","erases":"2026-03-09T09:55:00Z""#))
    #expect(
      sooner.out.contains(#""after":{"state":"waiting","erases":"2026-03-02T09:55:00Z"}"#))
    #expect(try coffer("deletion", "list").out.contains("ada"))
  }

  @Test func `an end at once is asked for once`() throws {
    #expect(try act("account", "delete", "ada", "--export-first").code == 0)
    let hastened = try act("account", "delete", "ada", "--now")
    #expect(hastened.code == 0, "\(hastened.errors)")
    #expect(hastened.out.contains("without the export that it waited for"))
    #expect(hastened.out.contains("subscriptions") && !hastened.out.contains("[]"))
    let again = try act("account", "delete", "ada", "--now")
    #expect(again.code == 1)
    #expect(
      again.errors.hasSuffix(
        " is erased from 2026-03-02T09:55:00Z on, which has passed: coffer-sync does it\n"))
  }

  @Test(arguments: [
    ["entitlement", "revoke", "ID", "--grant", "0b5c0a2e-0000-4000-8000-000000000001"],
    ["quota", "clear", "ID"],
    ["entitlement", "grant", "ID", "--plan", "free"], ["account", "suspend", "ID"],
    ["account", "delete", "ID"], ["quota", "set", "ID", "1GB"], ["deletion", "cancel", "ID"],
  ])
  func `nothing is done to an account that is erased`(words: [String]) throws {
    let id = try erase()
    let refused = try Finished(
      words.map { $0 == "ID" ? id : $0 } + Self.reason, environment: environment)
    #expect(refused.code == 1)
    #expect(refused.errors == "coffer: account \(id) was erased on 1970-01-01T00:00:01Z\n")
  }

  @Test func `what an account owned is released once it is erased, and not before`() throws {
    #expect(try act("entitlement", "grant", "ada", "--plan", "premium").code == 0)
    let early = try act("subscription", "release", try id)
    #expect(early.code == 1)
    #expect(early.errors == "coffer: account \(try id) still exists\n")
    let id = try erase()
    let released = try act("subscription", "release", id, "--json")
    #expect(released.code == 0, "\(released.errors)")
    let again = try act("subscription", "release", id)
    #expect(again.code == 1)
    #expect(again.errors == "coffer: \(id) owns nothing and has no grants\n")
    #expect(released.out.contains(#""plan":"premium","reason":"granted""#))
    #expect(released.out.contains(#""after":{"subscriptions":0,"cap":1000000,"plan":"free""#))
    #expect(released.out.contains("\"released\":\"\(id)\""))
  }

  @Test func `only an account that was exported is told to be another Coffer's`() throws {
    let early = try act("account", "delete", "ada", "--moved")
    #expect(early.code == 1)
    #expect(early.errors.hasSuffix(": run coffer account export first\n"))
    let exported = try coffer("account", "export", "ada", "--to", scratch.path + "/ada.tar")
    #expect(exported.code == 0, "\(exported.errors)")
    let moved = try act("account", "delete", "ada", "--moved", "--json")
    #expect(moved.code == 0, "\(moved.errors)")
    #expect(moved.out.contains(#""erases":"2026-03-09T09:55:00Z","moved":true}"#))
    #expect(try coffer("deletion", "list", "--json").out.contains(#""moved":true"#))
    #expect(
      try act("deletion", "cancel", "ada").out.contains(
        " is kept; its stores were not asked to stop billing\n"))
  }

  @Test func `what is given to an account that leaves is shown with its end`() throws {
    #expect(try act("account", "delete", "ada").code == 0)
    let shown = try coffer("entitlement", "grant", "ada", "--plan", "premium", "--reason", "x")
    #expect(shown.code == 3)
    #expect(
      shown.out.contains(
        #/leaving +erased from 2026-03-09T09:55:00Z on +erased from 2026-03-09T09:55:00Z on/#))
  }

  @Test func `stores that were told already are not spared any more`() throws {
    #expect(try coffer("account", "export", "ada", "--to", scratch.path + "/ada.tar").code == 0)
    #expect(try act("account", "delete", "ada").code == 0)
    let late = try act("account", "delete", "ada", "--now", "--moved")
    #expect(late.code == 1)
    #expect(late.errors.contains(" was requested without --moved on 2026-03-02T09:55:00Z, and "))
    let both = try act("account", "delete", "ada", "--export-first", "--moved")
    #expect(both.code == 64)
  }

  private var id: String {
    get throws {
      let shown = try coffer("account", "show", "ada", "--json").out
      return String(try #require(shown.firstMatch(of: #/"account":"([^"]+)"/#)).1)
    }
  }

  @Test(arguments: ["stopping", "waiting", "erasing"])
  func `an account is erased once both programs have erased it`(state: String) throws {
    let id = try erase()
    try write(
      """
      INSERT INTO billing.account_deletions (account_id, state, begun_ms, asked_ms)
      SELECT account_id, '\(state)', asked_ms, asked_ms FROM sync.account_deletions
      """, owning: .billing)
    let billing = state == "erasing" ? state : "waiting"
    let stores = state == "stopping" ? state : "stopped"
    let listed = try coffer("deletion", "list", "--json").out
    #expect(listed.contains(#""state":"erasing""#) && listed.contains(#""erased":null"#))
    #expect(
      listed.contains(
        #""parts":{"sync":"erased","billing":"\#(billing)","stores":"\#(stores)"}"#), "\(listed)")
    let parts = "(sync erased, billing \(billing), stores \(stores))"
    #expect(try coffer("account", "show", id).out.contains(parts))
    #expect(try coffer("find", id).out.contains(parts))
    #expect(try act("quota", "set", id, "1GB").errors == "coffer: account \(id) is being erased\n")
    let explained = try coffer("entitlement", "explain", id, "--json").out
    #expect(
      explained.contains(#""erased":null"#) && explained.contains(#""billing":"\#(billing)""#))

    try write(
      "UPDATE billing.account_deletions SET state = 'erased', erased_ms = 2000", owning: .billing)
    let done = try coffer("deletion", "list", "--json").out
    #expect(done.contains(#""state":"erased""#))
    #expect(done.contains(#""erased":"1970-01-01T00:00:02Z""#), "\(done)")
  }

  @Test func `a program that has not read of an end has erased nothing`() throws {
    _ = try erase()
    try write(
      """
      INSERT INTO billing.rules_in_force (id, number, digest, catalogue, content, applied, since_ms)
      VALUES (1, 1, '', '', '', 1, 0)
      """, owning: .billing)
    let listed = try coffer("deletion", "list", "--json").out
    #expect(listed.contains(#""state":"erasing""#))
    #expect(
      listed.contains(#""parts":{"sync":"erased","billing":"waiting","stores":"waiting"}"#))
  }

  @Test func `an account whose keys are erased is not said to have an unproven id`() throws {
    let id = try erase()
    try write("DELETE FROM sync.device_keys", owning: .sync)
    let shown = try coffer("account", "show", id).out
    #expect(shown.contains("\nproven     unknown: its keys are erased\n"), "\(shown)")
    #expect(try coffer("account", "show", id, "--json").out.contains(#""proven":null"#))
  }

  @Test func `an erased account is found by its id after its row has gone`() throws {
    try write(
      """
      INSERT INTO sync.account_deletions
        (account_id, asked_ms, erase_ms, begun_ms, erased_ms, forgotten_ms)
      VALUES (x'0B8F6A3E2F5D4C439A617D0E5B1C9F10', 0, 0, 0, 1000, 2000)
      """, owning: .sync)
    let id = "0b8f6a3e-2f5d-4c43-9a61-7d0e5b1c9f10"
    let found = try coffer("find", id)
    #expect(found.code == 0, "\(found.errors)")
    #expect(found.out.contains(id) && found.out.contains("gone since 1970-01-01T00:00:01Z"))
    #expect(try coffer("find", id, "--json").out.contains(#""exists":false"#))
  }

  private func write(_ sql: String, owning schema: Schema) throws {
    try scratch.change(schema) { try $0.execute(sql) }
  }

  /// Erases ada as coffer-sync would have noted it, and returns the account's id.
  private func erase() throws -> String {
    let id = try id
    #expect(try act("account", "delete", "ada", "--now").code == 0)
    try write("UPDATE sync.account_deletions SET begun_ms = 1, erased_ms = 1000", owning: .sync)
    return id
  }
}
