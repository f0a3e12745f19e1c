package import Base
package import JSON

extension Column {
  /// A number with a comma between thousands in the table.
  package static func count(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Int64
  ) -> Column {
    Column(
      name, .integer, title, .right, json: { .integer(value($0)) },
      cell: { row, _ in value(row).grouped })
  }

  /// A begin or an end: exact in the table, and null in JSON at either end of time.
  package static func bound(
    _ name: String, _ title: String? = nil, _ value: @escaping (Row) -> Instant
  ) -> Column {
    Column(
      name, .orNull(.time), title, json: { .moment(value($0)) },
      cell: { row, _ in value(row).description })
  }

  /// A column that only the table has.
  package static func shown(
    _ title: String, _ alignment: Table.Alignment = .left,
    _ cell: @escaping (Row, _ now: Instant) -> String
  ) -> Column {
    Column(nil, .anything, title, alignment, json: { _ in .null }, cell: cell)
  }

  package static func texts(_ name: String, _ values: @escaping (Row) -> [String]) -> Column {
    Column(name, .list(.text), json: { .array(values($0).map { .string($0) }) })
  }

  /// Items with members of their own.
  package static func list<Item>(
    _ name: String, _ listing: Listing<Item>, _ items: @escaping (Row) -> [Item]
  ) -> Column {
    Column(name, .list(listing.item), json: { listing.array(items($0)) })
  }

  /// A value with members of its own.
  package static func object<Item>(
    _ name: String, _ listing: Listing<Item>, _ item: @escaping (Row) -> Item
  ) -> Column {
    Column(name, listing.item, json: { listing.json(item($0)) })
  }

  package static func optionalObject<Item>(
    _ name: String, _ listing: Listing<Item>, _ item: @escaping (Row) -> Item?
  ) -> Column {
    Column(name, .orNull(listing.item), json: { item($0).map(listing.json) ?? .null })
  }
}

extension Listing {
  /// For items that have no page of their own.
  package init(_ columns: [Column<Row>]) { self.init("items", columns) }

  /// The members of one item.
  package var shapes: [JSONShape.Member] {
    columns.compactMap { column in column.name.map { .init($0, column.shape) } }
  }

  package func array(_ rows: [Row]) -> JSONValue { .array(rows.map(json)) }

  /// The same columns for rows that have these items as a part.
  package func columns<Whole>(of part: @escaping (Whole) -> Row) -> [Column<Whole>] {
    columns.map { column in
      Column<Whole>(
        column.name, column.shape, column.title, column.alignment,
        json: { column.json(part($0)) }, cell: { column.cell(part($0), $1) })
    }
  }

  /// The table below a title; empty if there are no rows.
  package func section(_ title: String, _ rows: [Row], at now: Instant) -> String {
    rows.isEmpty ? "" : "\(title)\n" + table(rows, at: now).indented()
  }
}

extension Table {
  /// The table indented, no wider than the terminal.
  package func indented() -> String { Prose.indented(text(width: Terminal.width - 2)) }
}

extension Prose {
  /// The lines of a text, indented by two columns.
  package static func indented(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
      line.isEmpty ? "\n" : "  \(line)\n"
    }.joined()
  }

  /// A line for each field. The values are aligned, with at least one column between.
  package static func fields(
    _ fields: [(name: String, value: String)], width: Int? = nil
  ) -> String {
    let width = width ?? (fields.map(\.name.count).max() ?? 0) + 2
    return fields.map { name, value in
      name + String(repeating: " ", count: max(1, width - name.count)) + Printable.text(value)
        + "\n"
    }.joined()
  }
}
