extension Int64 {
  /// The number with a comma between thousands: `100,022`.
  package var grouped: String {
    var text = ""
    for (index, digit) in String(magnitude).reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return (self < 0 ? "-" : "") + String(text.reversed())
  }
}
/// `1 account`, `100,022 accounts`.
package func counted(_ count: Int, _ thing: String) -> String { counted(Int64(count), thing) }

package func counted(_ count: Int64, _ thing: String) -> String {
  count.grouped + " " + (count == 1 ? thing : thing + "s")
}
