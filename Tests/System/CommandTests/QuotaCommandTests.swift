import Base
import TestEngines
import Testing

struct QuotaCommandTests: CommandSuite {
  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws {
    let installation = try ScratchInstallation(at: Instant(seconds: 1_772_445_300))
    (scratch, environment) = (installation.scratch, installation.environment)
    _ = try coffer("migrate")
    _ = try coffer("account", "create", "--username", "ada", "--key-file", scratch.path + "/key")
  }

  @Test func `a quota with an end is told with it, and replaced together with it`() throws {
    let set = try coffer(
      "quota", "set", "ada", "2TB", "--until", "2027-01-01", "--reason", "n", "--yes", "--json")
    #expect(set.code == 0, "\(set.errors)")
    #expect(set.out.contains(#""quota":null,"quota_until":null}"#))
    let told = #""quota":2000000000000,"quota_until":"2027-01-01T00:00:00Z"}"#
    #expect(set.out.contains(#""reason":"quota_set","grants":"",\#(told)"#), "\(set.out)")
    let next = try coffer("quota", "set", "ada", "3TB", "--reason", "n", "--yes", "--json")
    #expect(next.out.contains(told))
    #expect(next.out.contains(#""quota":3000000000000,"quota_until":null}"#), "\(next.out)")
  }
}
