package import JSON

/// The part of a list that a command shows.
package struct ListPage<Row> {
  package let rows: [Row]
  /// The value for `--after` to continue; nil if these are the last rows.
  package let next: String?

  /// `found` has one more row than is shown, if there are more.
  package init(_ found: [Row], limit: Int, cursor: (Row) -> String) {
    rows = Array(found.prefix(limit))
    next = found.count > limit ? rows.last.map(cursor) : nil
  }

  /// `next` for programs.
  package var cursor: JSONValue { next.map { .string($0) } ?? .null }

  /// The page for programs, in the shape of `JSONShape.page`. `rows` are the page's rows, each in
  /// its own shape.
  package func json(
    _ name: String, _ rows: [JSONValue], adding members: [JSONValue.Member] = []
  ) -> JSONValue {
    .object([.init(name, .array(rows)), .init("next", cursor)] + members)
  }

  /// How to continue, if there are more rows: `100 of 100,022 accounts; continue with --after …`.
  package func notice(of things: String, count: () throws -> Int64) rethrows -> String? {
    guard let next else { return nil }
    let (shown, all) = (Int64(rows.count).grouped, try count().grouped)
    return "\(shown) of \(all) \(things); continue with --after \(next)"
  }

  /// The same for a list that may be very long. It is counted up to `max` only.
  package func notice(
    of things: String, countedTo max: Int64, count: (_ limit: Int64) throws -> Int64
  ) rethrows -> String? {
    guard let next else { return nil }
    let found = try count(max + 1)
    let all = found > max ? "more than \(max.grouped)" : found.grouped
    return "\(Int64(rows.count).grouped) of \(all) \(things); continue with --after \(next)"
  }

  /// The same for a list that is not counted.
  package func notice(of things: String) -> String? {
    next.map { "there are more \(things); continue with --after \($0)" }
  }
}

extension JSONShape {
  /// A page of a list under the name of its items, and the value for `--after` to continue.
  package static func page(_ name: String, of row: JSONShape) -> JSONShape {
    .object([.init(name, .list(row)), .init("next", .orNull(.text))])
  }
}
