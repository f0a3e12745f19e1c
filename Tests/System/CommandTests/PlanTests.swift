import Goldens
import TestEngines
import Testing

struct PlanTests {
  static let catalogue = """
    {"version":"7","free":{"id":"free","title":"Free","bytes":1000000},"fallback":null,
     "plans":[{"id":"premium","title":"Premium","bytes":30000000000,"products":[
       {"provider":"stripe","product":"prod_1","price":"price_1","amount":299,"currency":"usd",
        "interval":"month"},
       {"provider":"stripe","product":"prod_1","price":"price_2","amount":4000,"currency":"jpy",
        "interval":"year"}]}]}
    """

  @Test func `plans are listed for people`() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write(Self.catalogue, to: "plans.json")
    let finished = try Finished(["plan", "list"], environment: ["COFFER_PLANS": path])
    #expect(finished.code == 0)
    try expectGolden(finished.out, "plan-list")
  }

  @Test func `plans are listed for programs`() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write(Self.catalogue, to: "plans.json")
    let finished = try Finished(["plan", "list", "--json"], environment: ["COFFER_PLANS": path])
    try expectGolden(finished.out, "plan-list-json")
  }

  @Test func `a broken catalogue is named with its place`() throws {
    let scratch = try ScratchDirectory()
    let path = try scratch.write("{\"version\":1}", to: "plans.json")
    let finished = try Finished(["plan", "list"], environment: ["COFFER_PLANS": path])
    #expect(finished.code == 78)
    #expect(
      finished.errors.hasPrefix("coffer: COFFER_PLANS (environment): \"\(path)\" $.version: "))
  }
}
