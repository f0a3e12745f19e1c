import Base
import CommandLine

/// The first rows that a run finds, each printed as soon as it is found.
struct FoundRows<Row> {
  let listing: Listing<Row>
  private let prints: Bool
  private(set) var listed: [Row] = []

  private static var countMax: Int { 1000 }

  /// - Parameter listing: Its titles must be as wide as its cells, because rows are printed before the next one is known.
  init(_ listing: Listing<Row>, prints: Bool) {
    (self.listing, self.prints) = (listing, prints)
  }

  mutating func add(_ row: Row, _ progress: Progress) throws {
    guard listed.count < Self.countMax else { return }
    listed.append(row)
    guard prints else { return }
    progress.makeRoom()
    let text = listing.text([row], at: .distantPast)
    // The first one comes with the titles.
    try StandardOutput.writeOn(
      listed.count == 1 ? text : String(text.drop { $0 != "\n" }.dropFirst()))
  }

  static func title(_ title: String, over cells: [String]) -> String {
    let width = cells.map(\.count).max() ?? 0
    return title + String(repeating: " ", count: max(0, width - title.count))
  }
}
