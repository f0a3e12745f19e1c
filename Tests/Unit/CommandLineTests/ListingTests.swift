import Base
import CommandLine
import Configuration
import JSON
import Testing

struct ListingTests {
  private struct Parcel {
    let name: String
    let count: Int64
    let sent: Instant
    let arrived: Instant?
  }

  private static let now = Instant(rfc3339: "2026-11-15T08:30:00Z")!

  private var listing: Listing<Parcel> {
    Listing(
      "parcels",
      [
        .text("name", "NAME") { $0.name }, .integer("count", "COUNT") { $0.count },
        .time("sent") { $0.sent }, .optionalTime("arrived", "ARRIVED") { $0.arrived },
        .optionalText("note", "NOTE", absent: "none") { _ in nil },
        .shown("AGE") { parcel, now in "\((now - parcel.sent).milliseconds / 3_600_000) h" },
      ])
  }

  private let parcels: [Parcel] = [
    Parcel(name: "a", count: 7, sent: Self.now - .days(1), arrived: Self.now),
    Parcel(name: "b", count: 12, sent: Self.now, arrived: nil),
  ]

  @Test func `the table has the columns with a title, and absent values are marked`() {
    let lines = listing.text(parcels, at: Self.now).split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(lines.count == 3)
    #expect(lines.first == "NAME COUNT ARRIVED NOTE AGE")
    #expect(lines.last == "b 12 - none 0 h")
  }

  @Test func `a page has every member, in the shape that is announced`() throws {
    let command = Command(
      words: ["parcel", "list"], abstract: "List parcels", examples: [],
      options: [Parameter<Int>.limit()],
      answers: listing.shape, run: { _ in throw CommandFailure(.software, "it is not run") })
    let invocation = try Invocation(
      of: command, ["--limit": ["1"]], settings: SettingsTable(stores: []), environment: [:])
    let page = listing.page(invocation, by: \.name) { Array(parcels.prefix($0)) }
    let answer = listing.answer(page, at: Self.now, notice: page.notice)
    #expect(listing.shape.misfit(answer.json) == nil)
    #expect(
      String(decoding: answer.json.encoded(), as: UTF8.self)
        == #"{"parcels":[{"name":"a","count":7,"sent":"2026-11-14T08:30:00Z","#
        + #""arrived":"2026-11-15T08:30:00Z","note":null}],"next":"a"}"#)
    #expect(answer.notice == "there are more parcels; continue with --after a")
  }

  @Test func `an item has lists and objects of other items, and the table columns of its own`() {
    let carts = Listing<(parcels: [Parcel], first: Parcel?)>([
      .list("parcels", listing) { $0.parcels }, .optionalObject("first", listing) { $0.first },
      .texts("names") { $0.parcels.map(\.name) },
      .shown("PARCELS", .right) { cart, _ in String(cart.parcels.count) },
    ])
    #expect(carts.item.misfit(carts.json((parcels, parcels[0]))) == nil)
    #expect(carts.item.misfit(carts.json((parcels, nil))) == nil)
    #expect(
      carts.json(([], nil)) == ["parcels": [], "first": nil, "names": []] as JSONValue)
    #expect(carts.text([(parcels, nil)], at: Self.now) == "PARCELS\n      2\n")
    #expect(carts.section("carts", [([], nil)], at: Self.now) == "carts\n  PARCELS\n        0\n")
    #expect(carts.section("carts", [], at: Self.now).isEmpty)
  }

  @Test func `the columns of a part are columns of the whole`() {
    let sent = Listing<(number: Int64, parcel: Parcel)>(
      [.count("number", "NUMBER") { $0.number }] + listing.columns { $0.parcel })
    let row = (number: Int64(1000), parcel: parcels[0])
    #expect(
      sent.members(row).map(\.name) == ["number", "name", "count", "sent", "arrived", "note"])
    #expect(sent.text([row], at: Self.now).contains("1,000"))
  }

  @Test func `a cell may show more than the value`() {
    let listing = Listing<Parcel>([
      .text("name", "NAME", .folded, cell: { "\($0.name) of \($0.count)" }) { $0.name }
    ])
    #expect(listing.table(parcels, at: Self.now).text.split(separator: "\n").last == "b of 12")
    #expect(String(decoding: listing.json(parcels[0]).encoded(), as: UTF8.self) == #"{"name":"a"}"#)
  }
}
