import Base
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
      again.errors == "coffer: \(page) cannot be written: it exists and is not overwritten\n")
    let forced = try shop.coffer("report", "--html", page, "--force")
    #expect(forced.code == 0, "\(forced.errors)")
    #expect(forced.out.hasPrefix("October 2026, as known at 2026-11-15T08:30:00Z\n"))
    #expect(Files.text(page)?.contains("<h1>Coffer in October 2026</h1>") == true)
    #expect(!Files.paths(under: shop.scratch.path).contains("report.html.new"))

    for (words, code, complaint) in [
      (["--month", "2026-12"], 1, "2026-12 has not begun; the running month is 2026-11"),
      (
        ["--month", "2026-07"], 1, "nothing is known of 2026-07: the first of it all is of 2026-08"
      ),
      (["--month", "September"], 64, "--month takes a month like 2026-10"),
      (["--force"], 64, "--force is for --html"),
      (
        ["--html", "x", "--resume", "./x", "--force"], 64,
        "--html and --resume take two files: ./x is removed at the end"
      ),
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

    let file = shop.scratch.path + "/begun"
    _ = try shop.coffer(
      "report", "--month", "2026-11", "--resume", file, "--html", "/nowhere/report.html")
    try shop.scratch.setClock(Instant(rfc3339: "2026-12-02T09:00:00Z")!)
    let resumed = try shop.coffer("report", "--month", "2026-11", "--resume", file, "--json")
    #expect(
      resumed.out == json.replacing("\"until\":null", with: "\"until\":\"2026-12-02T09:00:00Z\""))
  }

  @Test func `a report that was interrupted goes on behind what its file has`() throws {
    let file = shop.scratch.path + "/begun"
    let whole = try shop.coffer("report", "--month", "2026-09", "--json").out
    // Everything is read, and then the page cannot be written.
    let lost = try shop.coffer(
      "report", "--month", "2026-09", "--resume", file, "--html", "/nowhere/report.html")
    #expect(lost.code == 1)
    #expect(Files.permissions(file) == 0o600)
    let begun = try #require(Files.text(file))
    let version = String(
      try shop.coffer("--version").out.dropFirst("coffer ".count).prefix { $0 != "\n" })
    try shop.scratch.setClock(Instant(rfc3339: "2026-11-16T09:00:00Z")!)
    for (member, ours, other) in [
      ("month", "2026-09", "2026-08"), ("environment", "live", "sandbox"),
      ("version", version, "0.0.1"),
      ("database", "", "0b5c0a2e-0000-4000-8000-000000000001"),
    ] {
      try Files.write(
        begun.replacing(
          "\"\(member)\":\"\(ours)\"", with: "\"\(member)\":\"\(other)\"", maxReplacements: 1),
        to: file)
      let refused = try shop.coffer("report", "--month", "2026-09", "--resume", file)
      #expect(refused.code == 1)
      #expect(
        refused.errors
          == "coffer: \(file) was begun with another \(member), \(other): name another file\n")
    }
    try Files.write(begun, to: file)
    let unheard = try Finished(
      path: "/bin/sh",
      [
        "-c", "exec \"$@\" >/dev/full", "sh", Binaries.directory + "/coffer", "report", "--month",
        "2026-09", "--resume", file,
      ],
      environment: shop.environment)
    #expect(unheard.code == 69)
    #expect(Files.text(file) != nil)
    let resumed = try shop.coffer("report", "--month", "2026-09", "--resume", file, "--json")
    #expect(resumed.code == 0, "\(resumed.errors)")
    #expect(
      resumed.out
        == whole.replacing(
          "\"until\":null", with: "\"until\":\"2026-11-16T09:00:00Z\""))
    #expect(Files.text(file) == nil)

    for broken in [
      "", "{}", "not a report", String(begun.dropLast(9)),
      begun.replacing("\"read\":", with: "\"raed\":"),
      begun.replacing(
        "\"movements\":[[",
        with: "\"movements\":[["
          + "0,0,0,0,0,0,0],["),
    ] {
      try Files.write(broken, to: file)
      let refused = try shop.coffer("report", "--month", "2026-09", "--resume", file)
      #expect(refused.code == 1)
      #expect(refused.errors == "coffer: \(file) is no report that was begun\n", "\(broken)")
      #expect(Files.text(file) == broken)
    }
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
