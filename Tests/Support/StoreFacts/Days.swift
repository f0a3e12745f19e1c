package import Base

package let accountA = Identifier("0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a01")!
package let accountB = Identifier("0b50dfbe-8c5b-4a7c-9f36-1f2d3b6f0a02")!

/// `day` days after 2026-01-01.
package func at(_ day: Double) -> Instant {
  Instant(seconds: 1_767_225_600 + Int64(day * 86_400))
}

/// `day 3`, or `day 3 12 h`.
package func dayText(_ instant: Instant) -> String {
  let seconds = instant.seconds - 1_767_225_600
  let hours = seconds % 86_400 / 3600
  return "day \(seconds / 86_400)" + (hours == 0 ? "" : " \(hours) h")
}
