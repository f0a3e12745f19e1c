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
}
