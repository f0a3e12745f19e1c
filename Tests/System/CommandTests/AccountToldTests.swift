import JSON
import Testing

/// The messages to a customer, from every place that sends them.
struct AccountToldTests {
  private static let account = FirstPurchase.account.filter { $0 != "-" }

  private static func notice(_ number: Int, _ body: String, delivered: String = "NULL") -> String {
    """
    INSERT INTO billing.notices (account_id, number, id, made_ms, body, attempts, delivered_ms)
    VALUES (x'\(account)', \(number), 'msg_\(number)', \(1_772_445_610_000 + number * 1000), '\(body)', 1,
      \(delivered))
    """
  }

  @Test func `notices, problems and refused claims stand in one list, the newest first`() throws {
    let shop = try FirstPurchase()
    try shop.write(
      Self.notice(
        1, #"{"state":"active","plan":"premium","reason":"subscribed"}"#, delivered: "1772445612000"
      ),
      Self.notice(
        2,
        #"{"state":"grace","plan":"premium","reason":"grace","problem":{"code":"payment_failed","detail":"The last payment failed."}}"#
      ),
      """
      INSERT INTO billing.flows (id, account_id, kind, asked, exclusive, step, state, status, problem, revision,
        created_ms, step_ms, closed_ms)
      VALUES (x'00000000000070008000000000000001', x'\(Self.account)', 'subscribe',
        '{"interval":"month","kind":"subscribe","payment_method":"pm_1","plan":"premium"}', 1, 'setup', '{}',
        'failed', '{"code":"card_declined"}', 1, 1772445700000, 1772445700000, 1772445701000)
      """,
      """
      INSERT INTO billing.refused_claims (object, account_id, refused_ms)
      VALUES ('apple:live:subscription:2000000123456780', x'\(Self.account)', 1772445605000)
      """)
    let json = try JSON.parse(
      Array(try shop.coffer("account", "told", "ada", "--json").out.utf8))
    let told = try json["told"].requireArray()
    #expect(told.map { $0["kind"].string } == ["problem", "notice", "notice", "refused_claim"])
    #expect(told[0]["about"].string == "subscribe premium month")
    #expect(told[0]["text"].string?.hasPrefix("card_declined: The bank declined") == true)
    #expect(told[1]["text"].string == "grace, plan premium, grace: The last payment failed.")
    #expect(told[2]["state"].string == "arrived 2026-03-02T10:00:12Z")
    #expect(try json["now"].requireArray().count == 3)
    let text = try shop.coffer("account", "told", "ada").out
    #expect(text.hasPrefix("Your account may store 30 GB"), "\(text)")
    #expect(text.contains("card_declined"), "\(text)")
  }

  @Test func `no more is listed than asked for, and that there is more is said`() throws {
    let shop = try FirstPurchase()
    for number in 1...100 { try shop.write(Self.notice(number, "{}")) }
    let told = try shop.coffer("account", "told", "ada", "--limit", "5", "--json")
    let json = try JSON.parse(Array(told.out.utf8))
    #expect(try json["told"].requireArray().map { $0["about"].string }.first == "notice 100")
    #expect(try json["told"].requireArray().count == 5)
    #expect(json["more"].bool == true)
    #expect(told.errors == "coffer: the newest 5; --limit shows more\n")
    #expect(try shop.coffer("account", "told", "nobody").code == 1)
  }

  private static func flow(_ number: Int, status: String, problem: String) -> String {
    let time = 1_772_445_700_000 + number * 1000
    return """
      INSERT INTO billing.flows (id, account_id, kind, asked, exclusive, step, state, status, problem, revision,
        created_ms, step_ms, closed_ms)
      VALUES (x'0000000000007000800000000000000\(number)', x'\(account)', 'subscribe',
        '{"interval":"month","kind":"subscribe","payment_method":"pm_1","plan":"premium"}', 1, 'setup', '{}',
        '\(status)', \(problem), 1, \(time), \(time), \(time))
      """
  }

  @Test func `flows that ended well hide no problem of an older one`() throws {
    let shop = try FirstPurchase()
    try shop.write(Self.flow(1, status: "failed", problem: #"'{"code":"card_declined"}'"#))
    for number in 2...5 {
      try shop.write(Self.flow(number, status: "done", problem: "NULL"))
    }
    let told = try shop.coffer("account", "told", "ada", "--limit", "2", "--json")
    let json = try JSON.parse(Array(told.out.utf8))
    #expect(try json["told"].requireArray().map { $0["kind"].string } == ["problem"])
    #expect(json["more"].bool == false)
  }
}
