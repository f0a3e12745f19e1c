/// Plots as SVG within a page: in the page's colours, with labels at the data.
package enum Plot {
  package struct Bar {
    let name: String
    let value: Double
    let label: String

    package init(_ name: String, _ value: Double, label: String) {
      (self.name, self.value, self.label) = (name, value, label)
    }
  }

  private static let width = 480.0

  /// A line with one value for each name. The first, the highest and the last are labelled.
  package static func line(
    _ title: String, _ names: [String], _ values: [Double], label: (Double) -> String
  ) -> String {
    guard values.contains(where: { $0 != 0 }) else { return figure(title, empty) }
    let (height, top, bottom, side) = (210.0, 24.0, 22.0, 34.0)
    let (low, high) = (min(0, values.min() ?? 0), max(0, values.max() ?? 0))
    func x(_ index: Int) -> Double {
      side + (width - 2 * side) * Double(index) / Double(max(1, values.count - 1))
    }
    func y(_ value: Double) -> Double {
      top + (height - top - bottom) * (high - value) / (high - low)
    }
    let points = values.indices.map { "\(text(x($0))),\(text(y(values[$0])))" }
      .joined(separator: " ")
    let last = values.count - 1
    let highest = values.firstIndex(of: high)
    var svg = axis(at: y(0))
    svg += "<polygon class=\"area\" points=\"\(text(x(0))),\(text(y(0))) \(points) "
    svg += "\(text(x(last))),\(text(y(0)))\"/>"
    svg += "<polyline class=\"curve\" points=\"\(points)\"/>"
    for index in Set([0, highest ?? last, last]).sorted() {
      let isNear = index != last && index != 0 && (last - index < 3 || index < 3)
      svg +=
        "<circle class=\"main\" cx=\"\(text(x(index)))\" cy=\"\(text(y(values[index])))\" r=\"3\"/>"
      if isNear || index == 0 && values[0] == 0 { continue }
      svg += words(
        label(values[index]), x(index), y(values[index]) - 9,
        anchor: index == 0 ? "start" : index == last ? "end" : "middle", isStrong: true)
    }
    svg += ticks(names, at: height - 6) { x($0) }
    return figure(title, canvas(height, title, svg))
  }

  /// A horizontal bar for each; the longest fills the available width.
  package static func bars(_ title: String, _ bars: [Bar]) -> String {
    guard let longest = bars.map(\.value).max(), longest > 0 else { return figure(title, empty) }
    let sorted = bars.sorted { $0.value > $1.value }
    let shown = sorted.prefix(barCountMax)
    let (row, names, room) = (26.0, 168.0, 212.0)
    var svg = ""
    for (index, bar) in shown.enumerated() {
      let y = Double(index) * row + 4
      let length = max(1.5, room * bar.value / longest)
      svg += words(Folded.text(bar.name, to: 28), names - 8, y + 14, anchor: "end")
      svg += "<rect class=\"main\" x=\"\(text(names))\" y=\"\(text(y + 2))\" rx=\"2\" "
      svg += "width=\"\(text(length))\" height=\"16\"/>"
      svg += words(bar.label, names + length + 6, y + 14, isStrong: true)
    }
    let more =
      sorted.count > shown.count
      ? "<p>\(sorted.count - shown.count) smaller ones are in the table.</p>\n" : ""
    return figure(title, canvas(Double(shown.count) * row + 8, title, svg) + more)
  }

  private static let barCountMax = 12

  /// Two bars for each name, above and below a line.
  package static func upAndDown(
    _ title: String, _ names: [String], up: [Int64], down: [Int64]
  ) -> String {
    let (most, least) = (Double(up.max() ?? 0), Double(down.max() ?? 0))
    guard most + least > 0 else { return figure(title, empty) }
    let (height, edge, bottom, side) = (210.0, 16.0, 22.0, 10.0)
    let scale = (height - 2 * edge - bottom) / (most + least)
    let zero = edge + most * scale
    let step = (width - 2 * side) / Double(max(1, names.count))
    var svg = axis(at: zero)
    for index in names.indices {
      let (centre, breadth) = (side + step * (Double(index) + 0.5), min(44, step * 0.6))
      let left = centre - breadth / 2
      for (value, isUp) in [(up[index], true), (down[index], false)] where value > 0 {
        let length = Double(value) * scale
        let y = isUp ? zero - length : zero
        svg += "<rect class=\"\(isUp ? "main" : "bad")\" x=\"\(text(left))\" y=\"\(text(y))\" "
        svg += "width=\"\(text(breadth))\" height=\"\(text(length))\"/>"
        svg += words(
          short(value), centre, isUp ? y - 4 : y + length + 11, anchor: "middle",
          isStrong: index == names.count - 1)
      }
    }
    svg += ticks(names, at: height - 4) { side + step * (Double($0) + 0.5) }
    return figure(title, canvas(height, title, svg))
  }

  // MARK: parts

  private static let empty = "<p>Nothing to show.</p>\n"

  private static func figure(_ title: String, _ content: String) -> String {
    "<figure><figcaption>\(HTML.text(title))</figcaption>\n\(content)</figure>\n"
  }

  private static func canvas(_ height: Double, _ title: String, _ content: String) -> String {
    "<svg viewBox=\"0 0 \(text(width)) \(text(height))\" role=\"img\" "
      + "aria-label=\"\(HTML.text(title))\">\(content)</svg>\n"
  }

  private static func axis(at y: Double) -> String {
    "<line class=\"axis\" x1=\"0\" x2=\"\(text(width))\" y1=\"\(text(y))\" y2=\"\(text(y))\"/>"
  }

  /// Every third name if there are many, counted back from the last.
  private static func ticks(_ names: [String], at y: Double, x: (Int) -> Double) -> String {
    let pace = names.count > 6 ? 3 : 1
    return names.indices.filter { (names.count - 1 - $0).isMultiple(of: pace) }.map { index in
      words(names[index], x(index), y, anchor: "middle")
    }.joined()
  }

  private static func words(
    _ content: String, _ x: Double, _ y: Double, anchor: String = "start", isStrong: Bool = false
  ) -> String {
    "<text\(isStrong ? " class=\"strong\"" : "") x=\"\(text(x))\" y=\"\(text(y))\" "
      + "text-anchor=\"\(anchor)\">\(HTML.text(content))</text>"
  }

  /// Two or three digits, for the room above a bar.
  private static func short(_ count: Int64) -> String {
    switch count {
    case ..<10_000: String(count)
    case ..<1_000_000: "\(count / 1000)k"
    default: "\(count / 1_000_000).\(count / 100_000 % 10)M"
    }
  }

  /// A coordinate, to the tenth.
  private static func text(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    let size = tenths.magnitude
    return (tenths < 0 ? "-" : "") + "\(size / 10)" + (size % 10 == 0 ? "" : ".\(size % 10)")
  }
}
