import Glibc

/// The source of "now". Only programs choose one; pure modules take an `Instant`.
package struct Clock: Sendable {
  private let read: @Sendable () -> Instant

  package init(_ read: @escaping @Sendable () -> Instant) { self.read = read }

  package func now() -> Instant { read() }

  /// The machine's wall clock (CLOCK_REALTIME).
  package static let system = Clock {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  package static func fixed(_ instant: Instant) -> Clock { Clock { instant } }

  /// A clock that a test moves by rewriting a file that holds milliseconds in decimal.
  ///
  /// The file is read at every call. A missing or malformed one stops the program: another time would be worse.
  package static func file(_ path: String) -> Clock {
    Clock {
      guard let text = readSmallFile(path), let number = Int64(text.filter { $0 != "\n" }) else {
        preconditionFailure("the virtual clock file \(path) does not hold milliseconds")
      }
      return Instant(milliseconds: number)
    }
  }
}

/// Time for measuring and for deadlines inside one process. It never goes back, and has no meaning outside the process.
package struct MonotonicTime: Comparable, Sendable {
  package let nanoseconds: UInt64

  package static func now() -> MonotonicTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return MonotonicTime(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  /// Saturates: a deadline in more than 500 years never comes.
  package static func + (time: MonotonicTime, span: Instant.Span) -> MonotonicTime {
    let milliseconds = UInt64(max(0, span.milliseconds))
    let (nanoseconds, isTooLong) = milliseconds.multipliedReportingOverflow(by: 1_000_000)
    let (end, isTooLate) = time.nanoseconds.addingReportingOverflow(nanoseconds)
    return MonotonicTime(nanoseconds: isTooLong || isTooLate ? .max : end)
  }

  package static func < (a: MonotonicTime, b: MonotonicTime) -> Bool {
    a.nanoseconds < b.nanoseconds
  }

  /// Seconds since an earlier moment, for histograms.
  package func seconds(since earlier: MonotonicTime) -> Double {
    Double(nanoseconds &- earlier.nanoseconds) / 1e9
  }
}

private func readSmallFile(_ path: String) -> String? {
  let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard file >= 0 else { return nil }
  defer { close(file) }
  var bytes = [UInt8](repeating: 0, count: 4096)
  let count = unsafe read(file, &bytes, bytes.count)
  guard count > 0 else { return nil }
  return String(decoding: bytes[..<count], as: UTF8.self)
}
