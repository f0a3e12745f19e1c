import Base
import Crypto
import Jobs
import TestEngines
import Testing

/// Tokens that clients make up: they own nothing and delay no one.
struct JunkClaimTests {
  private let ada = Random.identifier()

  @Test(arguments: TestEngine.available)
  func `a made-up token is pending until it is read, then unknown, then gone`(
    engine: TestEngine
  ) throws {
    let shop = try PlayShop(engine)
    let device = try shop.device(of: ada)
    #expect(try shop.claim("nonsense", by: device) == (202, "pending"))
    #expect(try shop.claim("nonsense", by: device) == (202, "pending"))
    for _ in 0..<5 { try shop.runDue() }
    #expect(shop.play.reads == ["nonsense"])
    #expect(try shop.job("read", "nonsense") == nil)
    #expect(try shop.claim("nonsense", by: device) == (404, "purchase_unknown"))
    #expect(try shop.count("SELECT count(*) FROM billing.claims") == 0)
    for table in ["deliveries", "read_requests", "decisions", "subscriptions", "mirrors", "jobs"] {
      #expect(try shop.count("SELECT count(*) FROM billing.\(table)") == 0, "\(table)")
    }
  }

  @Test(arguments: TestEngine.available)
  func `a claim is accepted when its purchase was read, the first one's`(
    engine: TestEngine
  ) throws {
    let shop = try PlayShop(engine)
    let (first, second) = (try shop.device(of: ada), try shop.device(of: Random.identifier()))
    shop.play.sell("p", at: shop.now)
    #expect(try shop.claim("p", by: first) == (202, "pending"))
    shop.now = shop.now + .seconds(1)
    #expect(try shop.claim("p", by: second) == (202, "pending"))
    #expect(try shop.cap(of: ada) == 10)
    try shop.runDue()
    #expect(try shop.cap(of: ada) == 1000)
    #expect(try shop.claim("p", by: first) == (200, "owned"))
    #expect(try shop.claim("p", by: second) == (409, "purchase_owned"))
    #expect(try shop.job("acknowledge", "p") != nil)
  }

  @Test func `a claim that waits gives nothing to an account that is being deleted`() throws {
    let shop = try PlayShop()
    let (first, second) = (try shop.device(of: ada), try shop.device(of: Random.identifier()))
    shop.play.sell("p", at: shop.now)
    #expect(try shop.claim("p", by: first) == (202, "pending"))
    shop.now = shop.now + .seconds(1)
    #expect(try shop.claim("p", by: second) == (202, "pending"))
    try shop.leave(ada)
    try shop.runDue()
    #expect(try shop.claim("p", by: second) == (200, "owned"))
  }

  @Test func `a purchase that Google told of while it was read for a claim is not forgotten`()
    throws
  {
    let shop = try PlayShop()
    let device = try shop.device(of: ada)
    #expect(try shop.claim("p", by: device) == (202, "pending"))
    shop.play.duringNextRead { [unowned shop] in _ = try? shop.push("p", 4) }
    try shop.runDue()
    #expect(try shop.job("read", "p") != nil)
    shop.play.sell("p", at: shop.now)
    shop.now = shop.now + .hours(1)
    try shop.runDue()
    #expect(try shop.cap(of: ada) == 1000)
  }

  @Test func `one account's unread claims are few`() throws {
    let shop = try PlayShop()
    let device = try shop.device(of: ada)
    var answers: [String: Int] = [:]
    for number in 0..<50 {
      answers[try shop.claim("junk\(number)", by: device).word, default: 0] += 1
    }
    #expect(answers["pending"] == 5)
    #expect(answers["too_many_claims"] == 45)
  }

  @Test func `what Google does not know counts among them for ten minutes`() throws {
    let shop = try PlayShop()
    let device = try shop.device(of: ada)
    for number in 0..<5 {
      #expect(try shop.claim("junk\(number)", by: device) == (202, "pending"))
    }
    for _ in 0..<5 { try shop.runDue() }
    let end = shop.now + .minutes(10)
    shop.now = end - .milliseconds(1)
    #expect(try shop.claim("more", by: device) == (429, "too_many_claims"))
    shop.now = end
    for token in ["more", "junk0"] {
      #expect(try shop.claim(token, by: device) == (202, "pending"))
    }
  }

  /// The worst case: 30 accounts post 1,500 claims of nothing. Other threads read the purchases that Google
  /// announces. The claim of a fresh account waits for one read of each account, whatever they post.
  @Test func `1,500 junk claims of 30 accounts let a real purchase wait for 30 reads at most`()
    throws
  {
    let shop = try PlayShop()
    for account in 0..<30 {
      let device = try shop.device(of: Random.identifier())
      for number in 0..<50 { _ = try shop.claim("junk\(account)-\(number)", by: device) }
    }
    shop.now = shop.now + .seconds(1)
    shop.play.sell("told", at: shop.now, account: ada)
    shop.play.sell("claimed", at: shop.now)
    #expect(try shop.claim("claimed", by: try shop.device(of: ada)) == (202, "pending"))
    #expect(try shop.push("told", 4) == 200)
    #expect(try shop.readsBefore("told") <= 1)
    #expect(try shop.readsBefore("claimed") <= 31)
  }
}
