import Base
import CommandLine
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
    #expect(lines.first == "NAME COUNT ARRIVED NOTE")
    #expect(lines.last == "b 12 - none")
  }

  @Test func `a page has every member, in the shape that is announced`() {
    let page = ListPage(parcels, limit: 1) { $0.name }
    let answer = listing.answer(page, at: Self.now, notice: page.notice(of: "parcels"))
    #expect(listing.shape.misfit(answer.json) == nil)
    #expect(
      String(decoding: answer.json.encoded(), as: UTF8.self)
        == #"{"parcels":[{"name":"a","count":7,"sent":"2026-11-14T08:30:00Z","#
        + #""arrived":"2026-11-15T08:30:00Z","note":null}],"next":"a"}"#)
    #expect(answer.notice == "there are more parcels; continue with --after a")
  }
}
