package import Base
package import JSON

/// A value of each item of a list: a member in JSON if it has a name, and a column of the table if it has
/// a title.
package struct Column<Row> {
  let name: String?
  let shape: JSONShape
  let title: String?
  let alignment: Table.Alignment
  let json: (Row) -> JSONValue
  let cell: (Row, _ now: Instant) -> String

  /// A value that needs a form of its own. A cell may depend on the present time.
  package init(
    _ name: String?, _ shape: JSONShape, _ title: String? = nil,
    _ alignment: Table.Alignment = .left, json: @escaping (Row) -> JSONValue,
    cell: @escaping (Row, _ now: Instant) -> String = { _, _ in "" }
  ) {
    (self.name, self.shape, self.title, self.alignment) = (name, shape, title, alignment)
    self.json = json
    self.cell = cell
  }

  /// The table shows it as its `cell`, if that is not nil.
  package static func text(
    _ name: String, _ title: String? = nil, _ alignment: Table.Alignment = .left,
    cell: ((Row) -> String)? = nil, _ value: @escaping (Row) -> String
  ) -> Column {
    Column(
      name, .text, title, alignment, json: { .string(value($0)) },
      cell: { row, _ in (cell ?? value)(row) })
  }

  /// Null if there is no value, which the table shows as `absent`.
  package static func optionalText(
    _ name: String, _ title: String? = nil, _ alignment: Table.Alignment = .left,
    absent: String = "-", _ value: @escaping (Row) -> String?
  ) -> Column {
    Column(
      name, .orNull(.text), title, alignment, json: { value($0).map { .string($0) } ?? .null },
      cell: { row, _ in value(row) ?? absent })
  }

  package static func integer(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Int64
  ) -> Column {
    Column(
      name, .integer, title, .right, json: { .integer(value($0)) },
      cell: { row, _ in String(value(row)) })
  }

  /// A number of bytes, which the table shows in units for people.
  package static func bytes(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Int64
  ) -> Column {
    Column(
      name, .integer, title, .right, json: { .integer(value($0)) },
      cell: { row, _ in ByteCount.text(value(row)) })
  }

  package static func bool(_ name: String, _ value: @escaping (Row) -> Bool) -> Column {
    Column(name, .bool, json: { .bool(value($0)) })
  }

  package static func time(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Instant
  ) -> Column {
    Column(
      name, .time, title, json: { .string(value($0).description) },
      cell: { Terminal.time(value($0), now: $1) })
  }

  /// Null if there is no time, which the table shows as `-`. Either end of time is null, too.
  package static func optionalTime(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Instant?
  ) -> Column {
    Column(
      name, .orNull(.time), title, json: { value($0).map(JSONValue.moment) ?? .null },
      cell: { Terminal.time(value($0), now: $1) })
  }
}

/// The items of a list: their shape, their JSON and their table, all made from the same columns.
package struct Listing<Row> {
  private let name: String
  let columns: [Column<Row>]
  private let tint: (Row) -> Terminal.Tint?

  /// `name` is the member that holds the items. A row of the table has the colour of its `tint`.
  package init(
    _ name: String, _ columns: [Column<Row>], tint: @escaping (Row) -> Terminal.Tint? = { _ in nil }
  ) {
    self.name = name
    self.columns = columns
    self.tint = tint
  }

  /// The shape of one item.
  package var item: JSONShape { .object(shapes) }

  /// The shape of a page of items.
  package var shape: JSONShape { .page(name, of: item) }

  package func members(_ row: Row) -> [JSONValue.Member] {
    columns.compactMap { column in column.name.map { .init($0, column.json(row)) } }
  }

  package func json(_ row: Row) -> JSONValue { .object(members(row)) }

  /// Times are relative to `now` on a terminal.
  package func text(_ rows: [Row], at now: Instant) -> String { table(rows, at: now).text }

  package func table(_ rows: [Row], at now: Instant) -> Table {
    let shown = columns.compactMap { column in column.title.map { (title: $0, column: column) } }
    var table = Table(columns: shown.map { ($0.title, $0.column.alignment) })
    for row in rows { table.add(cells: shown.map { $0.column.cell(row, now) }, tint: tint(row)) }
    return table
  }

  /// The page behind `--after`, with as many rows as `--limit` allows. `find` gets how many to find;
  /// `cursor` is the value that continues after a row. What is found can be less than what is shown.
  package func page<Found>(
    _ invocation: Invocation, by cursor: (Found) -> String, _ find: (_ limit: Int) throws -> [Found]
  ) rethrows -> ListPage<Found> {
    let limit = invocation[Parameter<Int>.limit()]
    return ListPage(of: name, try find(limit + 1), limit: limit, cursor: cursor)
  }

  package func answer(_ page: ListPage<Row>, at now: Instant, notice: String?) -> Answer {
    Answer(
      text: text(page.rows, at: now),
      json: .object([member(page.rows), .init("next", page.next.map { .string($0) } ?? .null)]),
      notice: notice)
  }

  /// The rows under the list's name.
  package func member(_ rows: [Row]) -> JSONValue.Member {
    .init(name, .array(rows.map(json)))
  }

  /// The shape of that member.
  package var memberShape: JSONShape.Member { .init(name, .list(item)) }
}
