package import Base
import Glibc

extension Instant {
  /// Reads `2026-03-02T10:00:06Z`; traps unless it is written back the same.
  package init(date text: String) {
    let parts = text.split { !$0.isNumber }.map { Int32($0) ?? 0 }
    precondition(parts.count == 6, "\(text) is no moment")
    var date = unsafe tm()
    unsafe date.tm_year = parts[0] - 1900
    unsafe date.tm_mon = parts[1] - 1
    unsafe date.tm_mday = parts[2]
    unsafe date.tm_hour = parts[3]
    unsafe date.tm_min = parts[4]
    unsafe date.tm_sec = parts[5]
    self.init(seconds: Int64(unsafe timegm(&date)))
    precondition(description == text, "\(text) is no moment")
  }
}
