package import JSON

/// What a command shows of a list that may be longer.
package struct ListPage<Row> {
  package let rows: [Row]
  /// What `--after` takes to go on; nil where these are the last.
  package let next: String?

  /// `found` is one more than is shown, where there are more.
  package init(_ found: [Row], limit: Int, cursor: (Row) -> String) {
    rows = Array(found.prefix(limit))
    next = found.count > limit ? rows.last.map(cursor) : nil
  }

  /// `next` for programs.
  package var cursor: JSONValue { next.map { .string($0) } ?? .null }

  /// For programs, in the shape of `JSONShape.page`; `rows` are those of the page, each in its own shape.
  package func json(
    _ name: String, _ rows: [JSONValue], adding members: [JSONValue.Member] = []
  ) -> JSONValue {
    .object([.init(name, .array(rows)), .init("next", cursor)] + members)
  }

  /// How to go on, where there is more: `100 of 100,022 accounts; go on with --after …`.
  package func notice(of things: String, count: () throws -> Int64) rethrows -> String? {
    guard let next else { return nil }
    let (shown, all) = (Int64(rows.count).grouped, try count().grouped)
    return "\(shown) of \(all) \(things); go on with --after \(next)"
  }

  /// The same of a list that may be very long, which is counted no further than `max`.
  package func notice(
    of things: String, countedTo max: Int64, count: (_ limit: Int64) throws -> Int64
  ) rethrows -> String? {
    guard let next else { return nil }
    let found = try count(max + 1)
    let all = found > max ? "more than \(max.grouped)" : found.grouped
    return "\(Int64(rows.count).grouped) of \(all) \(things); go on with --after \(next)"
  }

  /// The same of a list that nobody counts.
  package func notice(of things: String) -> String? {
    next.map { "there are more \(things); go on with --after \($0)" }
  }
}

extension JSONShape {
  /// A list that may be longer, by the name of what is in it, and what `--after` takes to go on.
  package static func page(_ name: String, of row: JSONShape) -> JSONShape {
    .object([.init(name, .list(row)), .init("next", .orNull(.text))])
  }
}
