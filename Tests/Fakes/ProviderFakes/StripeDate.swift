package import Base

extension Instant {
  /// For a `Date` header: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
  package var httpDate: String {
    let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let text = Instant(seconds: seconds).description
    func part(_ start: Int, _ length: Int) -> Substring { text.dropFirst(start).prefix(length) }
    let weekday = weekdays[Int(seconds / 86_400 % 7)]
    let month = months[(Int(part(5, 2)) ?? 1) - 1]
    return "\(weekday), \(part(8, 2)) \(month) \(part(0, 4)) \(part(11, 8)) GMT"
  }
}
