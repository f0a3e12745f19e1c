import HTTPMessages
import Testing

@Suite struct PreconditionTests {
  private typealias Outcome = Preconditions.Outcome

  private static let current = EntityTag("v7")

  private static func outcome(
    _ name: String, _ value: String, exists: Bool = true, isSafe: Bool = false
  ) throws -> Outcome {
    try Preconditions(Headers([(name, value)]))
      .evaluate(current: exists ? current : nil, isSafe: isSafe)
  }

  @Test func `without conditions all holds`() throws {
    let none = try Preconditions(Headers())
    #expect(none.evaluate(current: Self.current, isSafe: false) == .holds)
    #expect(none.evaluate(current: nil, isSafe: true) == .holds)
  }

  @Test(arguments: [
    ("\"v7\"", true), ("\"v6\"", false), ("\"v6\", \"v7\"", true), ("\"v6\",\"v7\"", true),
    (",, \"v7\" ,", true), ("W/\"v7\"", false), ("*", true), ("\"v7,v6\"", false),
  ])
  func `If-Match holds for the current tag, strongly`(_ value: String, _ holds: Bool) throws {
    #expect(try Self.outcome("If-Match", value) == (holds ? .holds : .failed))
  }

  @Test(arguments: ["*", "\"v7\""])
  func `If-Match never holds where nothing is`(_ value: String) throws {
    #expect(try Self.outcome("If-Match", value, exists: false) == .failed)
  }

  @Test(arguments: [
    ("\"v7\"", false), ("\"v6\"", true), ("W/\"v7\"", false), ("\"v6\", W/\"v7\"", false),
    ("*", false),
  ])
  func `If-None-Match holds for every other tag, weakly`(_ value: String, _ holds: Bool) throws {
    #expect(try Self.outcome("If-None-Match", value) == (holds ? .holds : .failed))
    #expect(
      try Self.outcome("If-None-Match", value, isSafe: true) == (holds ? .holds : .notModified))
  }

  @Test(arguments: ["*", "\"v7\""])
  func `If-None-Match holds where nothing is`(_ value: String) throws {
    #expect(try Self.outcome("If-None-Match", value, exists: false) == .holds)
  }

  @Test func `If-Match is judged first`() throws {
    let both = try Preconditions(
      Headers([("If-Match", "\"v6\""), ("If-None-Match", "\"v7\"")]))
    #expect(both.evaluate(current: Self.current, isSafe: true) == .failed)
  }

  @Test func `two fields are one list`() throws {
    let both = try Preconditions(Headers([("If-Match", "\"v6\""), ("If-Match", "\"v7\"")]))
    #expect(both.evaluate(current: Self.current, isSafe: false) == .holds)
  }

  @Test(arguments: [
    "", ",", "v7", "\"v7", "v7\"", "\"v7\" \"v6\"", "\"v7\"x", "w/\"v7\"", "W/ \"v7\"", "*, \"v7\"",
    "\"a b\"", "\"a\"b\"", "\"\u{7F}\"",
  ])
  func `anything else is refused`(_ value: String) {
    let problem = #expect(throws: Problem.self) {
      try Preconditions(Headers([("If-Match", value)]))
    }
    #expect(problem?.code == "malformed_precondition")
  }

  @Test(arguments: ["", "a", "a,b", "é", "!#~"])
  func `a tag is read as it is written`(_ opaque: String) throws {
    let tag = try #require(EntityTag(opaque))
    #expect(EntityTag(field: tag.field) == tag)
  }

  @Test(arguments: [
    ("\"1\"", "\"1\"", true, true), ("W/\"1\"", "W/\"1\"", false, true),
    ("W/\"1\"", "\"1\"", false, true), ("\"1\"", "\"2\"", false, false),
    ("W/\"1\"", "W/\"2\"", false, false),
  ])
  func `tags compare as in the table of RFC 9110, section 8.8.3.2`(
    _ a: String, _ b: String, _ strongly: Bool, _ weakly: Bool
  ) throws {
    let a = try #require(EntityTag(field: a))
    let b = try #require(EntityTag(field: b))
    #expect(a.matchesStrongly(b) == strongly && b.matchesStrongly(a) == strongly)
    #expect(a.matchesWeakly(b) == weakly && b.matchesWeakly(a) == weakly)
  }
}
