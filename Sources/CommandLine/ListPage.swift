/// The part of a list that a command shows.
package struct ListPage<Row> {
  package let rows: [Row]
  /// The value for `--after` to continue; nil if these are the last rows.
  let next: String?
  private let things: String

  /// `found` has one more row than is shown, if there are more. `things` names the rows in a notice.
  init(of things: String, _ found: [Row], limit: Int, cursor: (Row) -> String) {
    self.things = things
    rows = Array(found.prefix(limit))
    next = found.count > limit ? rows.last.map(cursor) : nil
  }

  private init(of things: String, _ rows: [Row], next: String?) {
    (self.things, self.rows, self.next) = (things, rows, next)
  }

  /// The page with a row made of each of its rows; one without is left out.
  package func map<Shown>(_ shown: (Row) throws -> Shown?) rethrows -> ListPage<Shown> {
    ListPage<Shown>(of: things, try rows.compactMap(shown), next: next)
  }

  /// How to continue, if there are more rows: `100 of 100,022 accounts; continue with --after …`.
  package func notice(counting count: () throws -> Int64) rethrows -> String? {
    try notice(countedTo: .max) { _ in try count() }
  }

  /// The same for a list that may be very long. It is counted up to `max` only.
  package func notice(
    countedTo max: Int64, _ count: (_ limit: Int64) throws -> Int64
  ) rethrows -> String? {
    guard let next else { return nil }
    let found = try count(max == .max ? max : max + 1)
    let all = found > max ? "more than \(max.grouped)" : found.grouped
    return "\(Int64(rows.count).grouped) of \(all) \(things); continue with --after \(next)"
  }

  /// The same for a list that is not counted.
  package var notice: String? {
    next.map { "there are more \(things); continue with --after \($0)" }
  }
}

extension JSONShape {
  /// A page of a list under the name of its items, and the value for `--after` to continue.
  static func page(_ name: String, of row: JSONShape) -> JSONShape {
    .object([.init(name, .list(row)), .init("next", .orNull(.text))])
  }
}
