import Configuration

/// Rows for people: columns are aligned under their titles, numbers to the right.
package struct Table {
  package enum Alignment {
    case left, right
    /// For ids, which lose their middle if a row is too wide.
    case folded
    /// For sentences in the last column, which continue below.
    case wrapped
  }

  private let columns: [(title: String, alignment: Alignment)]
  private var rows: [(cells: [String], tint: Terminal.Tint?)] = []

  package init(_ columns: (title: String, alignment: Alignment)...) { self.columns = columns }

  package init(columns: [(title: String, alignment: Alignment)]) { self.columns = columns }

  /// On a terminal the row has the colour of its `tint`.
  package mutating func add(_ cells: String..., tint: Terminal.Tint? = nil) {
    add(cells: cells, tint: tint)
  }

  package mutating func add(cells: [String], tint: Terminal.Tint? = nil) {
    precondition(cells.count == columns.count, "a row has one cell for each column")
    rows.append((cells.map(Printable.text), tint))
  }

  package var isEmpty: Bool { rows.isEmpty }

  /// The table for a terminal, no wider than it is. Without a terminal the width is not limited.
  package var text: String { text(width: Terminal.width) }

  /// The table, no wider than `width`. Sentences are wrapped, and ids lose their middle; then other cells do,
  /// too. A table that is still too wide gets narrower gaps, or shows each row as a list of its cells.
  package func text(width: Int) -> String {
    for gap in [2, 1] {
      let widths = widths(within: width, gap: gap)
      guard Self.width(of: widths, gap: gap) <= width else { continue }
      return ([(cells: columns.map(\.title), tint: Terminal.Tint.title)] + rows).map { row in
        line(row.cells, widths, gap: gap).map { Terminal.tinted($0, row.tint) + "\n" }.joined()
      }.joined()
    }
    return lists(width: width)
  }

  /// Each row as lines of a title and a cell.
  private func lists(width: Int) -> String {
    let room = columns.map(\.title.count).max() ?? 0
    return rows.map { row in
      zip(columns, row.cells).map { column, cell in
        Terminal.tinted(
          Self.padded(column.title, room) + "  " + Folded.text(cell, to: width - room - 2), row.tint
        )
          + "\n"
      }.joined()
    }.joined(separator: "\n")
  }

  /// The table for an HTML page. A row that begins with `all` is the sum of the others.
  package var html: String {
    func row(_ cells: [String], _ name: String) -> String {
      zip(cells, columns).map { cell, column in
        "<\(name)\(column.alignment == .right ? " class=\"number\"" : "")>"
          + HTML.text(cell) + "</\(name)>"
      }.joined()
    }
    let body = rows.map { line in
      "<tr\(line.cells.first == "all" ? " class=\"sum\"" : "")>\(row(line.cells, "td"))</tr>\n"
    }
    return
      "<div class=\"scroll\"><table>\n<thead><tr>\(row(columns.map(\.title), "th"))</tr></thead>\n"
      + "<tbody>\n\(body.joined())</tbody></table></div>\n"
  }

  private static let foldedWidthMin = 9
  private static let wrappedWidthMin = 20

  private static func width(of widths: [Int], gap: Int) -> Int {
    widths.reduce(gap * (widths.count - 1), +)
  }

  private func widths(within width: Int, gap: Int) -> [Int] {
    var widths = columns.indices.map { column in
      ([columns[column].title] + rows.map { $0.cells[column] }).map(\.count).max() ?? 0
    }
    guard width < .max else { return widths }
    func excess() -> Int { Self.width(of: widths, gap: gap) - width }
    if let last = columns.indices.last, columns[last].alignment == .wrapped, excess() > 0 {
      widths[last] = max(min(widths[last], Self.wrappedWidthMin), widths[last] - excess())
    }
    for alignments: Set<Alignment> in [[.folded], [.folded, .left]] {
      while excess() > 0,
        let widest = columns.indices.filter({ alignments.contains(columns[$0].alignment) })
          .max(by: { widths[$0] < widths[$1] }), widths[widest] > Self.foldedWidthMin
      {
        widths[widest] -= 1
      }
    }
    return widths
  }

  private func line(_ row: [String], _ widths: [Int], gap: Int) -> [String] {
    var line = ""
    var below: [String] = []
    for (index, cell) in row.enumerated() {
      line += index == 0 ? "" : String(repeating: " ", count: gap)
      switch columns[index].alignment {
      case .left, .folded: line += Self.padded(Folded.text(cell, to: widths[index]), widths[index])
      case .right: line += String(repeating: " ", count: widths[index] - cell.count) + cell
      case .wrapped:
        let lines = Prose.lines(cell, width: widths[index])
        below = lines.dropFirst().map { String(repeating: " ", count: line.count) + $0 }
        line += lines[0]
      }
    }
    while line.last == " " { line.removeLast() }
    return [line] + below
  }

  private static func padded(_ cell: String, _ width: Int) -> String {
    cell + String(repeating: " ", count: width - cell.count)
  }
}

/// An id without its middle.
package enum Folded {
  /// At most `count` characters; the longer part is from the beginning.
  package static func text(_ text: String, to count: Int) -> String {
    guard text.count > count, count > 2 else { return text }
    let tail = (count - 1) / 3
    return text.prefix(count - 1 - tail) + "…" + text.suffix(tail)
  }
}

/// Sentences for people, broken between words.
package enum Prose {
  /// Lines no longer than `width`, except for a single long word.
  package static func lines(_ text: String, width: Int) -> [String] {
    SettingsHelp.lines(text.split(separator: " ", omittingEmptySubsequences: false), width: width)
  }

  /// Lines that begin with `indent`, none longer than `width`. The second and later lines are
  /// indented by two more columns.
  package static func text(_ text: String, indent: String = "", width: Int) -> String {
    lines(text, width: width - indent.count - 2).enumerated().map { index, line in
      indent + (index == 0 ? "" : "  ") + line + "\n"
    }.joined()
  }
}
