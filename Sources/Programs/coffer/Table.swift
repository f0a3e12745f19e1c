/// Rows for people: columns aligned under their titles, numbers to the right.
struct Table {
  enum Alignment { case left, right }

  private let columns: [(title: String, alignment: Alignment)]
  private var rows: [[String]] = []

  init(_ columns: (title: String, alignment: Alignment)...) { self.columns = columns }

  mutating func add(_ cells: String...) {
    precondition(cells.count == columns.count, "a row has one cell for each column")
    rows.append(cells.map(Printable.text))
  }

  var text: String {
    let all = [columns.map(\.title)] + rows
    let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
    return all.map { row in
      var line = ""
      for (index, cell) in row.enumerated() {
        let space = String(repeating: " ", count: widths[index] - cell.count)
        let gap = index == 0 ? "" : "  "
        line += gap + (columns[index].alignment == .left ? cell + space : space + cell)
      }
      while line.last == " " { line.removeLast() }
      return line + "\n"
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
