/// Byte counts for people, in powers of 1000 as plans are sold: `30 GB`, `1.5 MB`, `999 B`.
package enum ByteCount {
  package static func text(_ count: Int64) -> String {
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

  private static let units: [(name: String, byteCount: Int64)] = [
    ("kb", 1000), ("mb", 1_000_000), ("gb", 1_000_000_000), ("tb", 1_000_000_000_000), ("b", 1),
  ]

  /// Reads whole bytes, or units in any case: `500000000`, `500MB`; nil for anything else.
  package static func read(_ text: String) -> Int64? {
    let text = text.lowercased()
    let unit = units.first { text.hasSuffix($0.name) }
    guard let number = Int64(unit.map { text.dropLast($0.name.count) } ?? text[...]), number >= 0
    else { return nil }
    let (product, overflow) = number.multipliedReportingOverflow(by: unit?.byteCount ?? 1)
    return overflow ? nil : product
  }
}
