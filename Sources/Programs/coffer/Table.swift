/// Rows for people: columns aligned under their titles, numbers to the right.
struct Table {
  enum Alignment { case left, right }

  private let columns: [(title: String, alignment: Alignment)]
  private var rows: [(cells: [String], tint: Terminal.Tint?)] = []

  init(_ columns: (title: String, alignment: Alignment)...) { self.columns = columns }

  /// On a terminal the row has the colour of its `tint`.
  mutating func add(_ cells: String..., tint: Terminal.Tint? = nil) {
    precondition(cells.count == columns.count, "a row has one cell for each column")
    rows.append((cells.map(Printable.text), tint))
  }

  var text: String {
    let all = [(cells: columns.map(\.title), tint: Terminal.Tint.title)] + rows
    let widths = columns.indices.map { column in all.map { $0.cells[column].count }.max() ?? 0 }
    return all.map { row in
      var line = ""
      for (index, cell) in row.cells.enumerated() {
        let space = String(repeating: " ", count: widths[index] - cell.count)
        let gap = index == 0 ? "" : "  "
        line += gap + (columns[index].alignment == .left ? cell + space : space + cell)
      }
      while line.last == " " { line.removeLast() }
      return Terminal.tinted(line, row.tint) + "\n"
    }.joined()
  }
}

/// Byte counts for people, in powers of 1000 as plans are sold: `30 GB`, `1.5 MB`, `999 B`.
enum ByteCount {
  static func text(_ count: Int64) -> String {
    guard count >= 1000 else { return "\(count) B" }
    var unit: Int64 = 1000
    var names = ["kB", "MB", "GB", "TB", "PB"][...]
    while names.count > 1, count / unit >= 1000 {
      unit *= 1000
      names = names.dropFirst()
    }
    let tenths = count / (unit / 10) % 10
    return "\(count / unit)\(tenths == 0 ? "" : ".\(tenths)") \(names[names.startIndex])"
  }
}
