import JSON
import RecordedStories
import TestEngines
import TestFiles
import Testing

struct PlanNameTests {
  /// Harmful in HTML, in a terminal and in right-to-left text; and longer than any bar.
  private static let harm = "<script>alert(\"1\")</script> & 'x' \u{1B}[2J\r\u{202E}gnp"
  private static let shown = "<script>alert(\"1\")</script> & 'x' ?[2J??gnp"
  private static let onPage =
    "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39; ?[2J??gnp"

  @Test func `a plan whose name would do harm is named by the report and does none`() throws {
    let shop = try FirstPurchase()
    let name = Self.harm + String(repeating: " long", count: 200)
    let plans = try shop.scratch.write(
      String(decoding: RecordedStory.catalogue, as: UTF8.self)
        .replacing("fixtures-1", with: "joke-2")
        .replacing("\"id\": \"premium\"", with: "\"id\": \(JSONValue.string(name).text)"),
      to: "plans.json")
    let applied = try shop.coffer(
      "plan", "apply", plans, "--reason", "a joke", "--yes", without: "COFFER_PLANS")
    #expect(applied.code == 0, "\(applied.errors)")
    try Files.write("1776240000000\n", to: shop.scratch.path + "/clock")
    let page = shop.scratch.path + "/report.html"
    let told = try shop.coffer(
      "report", "--month", "2026-03", "--html", page, without: "COFFER_PLANS")
    #expect(told.code == 0, "\(told.errors)")
    #expect(told.out.contains(Self.shown + " long long"))
    let html = try #require(Files.text(page))
    #expect(html.contains(Self.onPage + " long long"))
    expectWholePage(html)
    for text in [applied.out, told.out, html] {
      #expect(!text.unicodeScalars.contains { $0 == "\u{1B}" || $0 == "\r" || $0 == "\u{202E}" })
    }
  }
}

extension JSONValue {
  fileprivate var text: String { String(decoding: encoded(), as: UTF8.self) }
}
