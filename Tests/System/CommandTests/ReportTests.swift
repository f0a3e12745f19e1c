import Goldens
import TestEngines
import TestFiles
import Testing

struct ReportTests {
  private let shop: SeptemberShop

  init() throws { shop = try SeptemberShop() }

  @Test func `a month is told as tables, as a value and as a page, and nothing is overwritten`()
    throws
  {
    let page = shop.scratch.path + "/report.html"
    let text = try shop.coffer("report", "--month", "2026-09", "--html", page)
    #expect(text.code == 0, "\(text.errors)")
    #expect(text.errors == "coffer: the page is in \(page)\n")
    try expectGolden(text.out, "report")
    try expectGolden(try shop.coffer("report", "--month", "2026-09", "--json").out, "report-json")
    let html = try #require(Files.text(page))
    try expectGolden(html, "report-page")
    expectWholePage(html)
    #expect(html.contains("<h1>Coffer in September 2026</h1>"))

    let again = try shop.coffer("report", "--html", page)
    #expect(again.code == 1)
    #expect(
      again.errors == "coffer: \(page) cannot be written: it exists and will not be overwritten\n")
    let forced = try shop.coffer("report", "--html", page, "--force")
    #expect(forced.code == 0, "\(forced.errors)")
    #expect(forced.out.hasPrefix("October 2026, as known at 2026-11-15T08:30:00Z\n"))
    #expect(Files.text(page)?.contains("<h1>Coffer in October 2026</h1>") == true)
    #expect(!Files.paths(under: shop.scratch.path).contains("report.html.new"))

    for (words, code, complaint) in [
      (["--month", "2026-12"], 1, "2026-12 has not begun; the running month is 2026-11"),
      (
        ["--month", "2026-07"], 1, "there is no data for 2026-07: the ledger begins in 2026-08"
      ),
      (["--month", "September"], 64, "--month takes a month like 2026-10"),
      (["--force"], 64, "--force is for --html"),
      (["--html", "-"], 64, "--html takes a file: the tables go to standard output"),
      (
        ["--html", "/nowhere/report.html"], 1,
        "/nowhere/report.html cannot be written: No such file or directory"
      ),
    ] as [([String], Int32, String)] {
      let refused = try Finished(["report"] + words, environment: shop.environment)
      #expect(refused.code == code, "\(words): \(refused.errors)")
      #expect(refused.errors == "coffer: \(complaint)\n")
      #expect(refused.out.isEmpty)
    }
    try refuseOnFullDisk()
  }

  @Test(arguments: [80, 120])
  func `on a terminal no line is wider than it`(width: Int) throws {
    let screen = try Finished.screen("report --month 2026-09", width, shop.environment)
    for line in screen.split(separator: "\n") { #expect(line.count <= width, "\(line)") }
    try expectGolden(screen, "report-\(width)")
  }

  @Test func `the running month is reported to date, and says so in every form`() throws {
    let page = shop.scratch.path + "/running.html"
    let text = try shop.coffer("report", "--month", "2026-11", "--html", page)
    #expect(text.code == 0, "\(text.errors)")
    try expectGolden(text.out, "report-to-date")
    let html = try #require(Files.text(page))
    #expect(html.contains("<h1>Coffer in November 2026 to date</h1>"))
    #expect(html.contains("counted until 2026-11-15, 08:30 UTC"))
    let json = try shop.coffer("report", "--month", "2026-11", "--json").out
    #expect(json.hasPrefix(#"{"month":"2026-11","to_date":"2026-11-15T08:30:00Z","#), "\(json)")
    #expect(json.contains(#"{"month":"2026-10","to_date":null,"#))
    #expect(json.contains(#"{"month":"2026-11","to_date":"2026-11-15T08:30:00Z","subscribers""#))
  }

  private func refuseOnFullDisk() throws {
    guard SmallDisk.isAvailable else { return }
    let disk = try SmallDisk(byteCount: 65_536)
    try disk.fill(leaving: 8192)
    let refused = try shop.coffer("report", "--html", disk.path + "/report.html")
    #expect(refused.code == 69)
    #expect(
      refused.errors == "coffer: \(disk.path)/report.html could not be written whole\n")
    #expect(Files.paths(under: disk.path) == ["ballast"])
  }
}

/// Expects that every element is closed where it was opened, nothing is fetched, and no script runs.
func expectWholePage(_ html: String) {
  var open: [Substring] = []
  let void: Set<Substring> = [
    "meta", "!DOCTYPE", "line", "rect", "circle", "polyline", "polygon",
  ]
  for part in html.split(separator: "<") {
    guard let end = part.firstIndex(of: ">") else {
      Issue.record("\(part) never ends")
      return
    }
    let tag = part[..<end]
    let name = tag.drop { $0 == "/" }.prefix { $0.isLetter || $0.isNumber || $0 == "!" }
    if tag.hasPrefix("/") {
      #expect(open.popLast() == name, "\(tag)")
    } else if void.contains(name) {
      continue
    } else {
      open.append(name)
    }
  }
  #expect(open.isEmpty)
  for word in ["http:", "https:", "//", "src=", "href=", "url(", "@import", "<script"] {
    #expect(!html.contains(word), "\(word)")
  }
}
