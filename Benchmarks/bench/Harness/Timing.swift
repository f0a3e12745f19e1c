import Base
import JSON

/// The times of one thing that was done repeatedly.
struct Timing: Sendable {
  let what: String
  /// Ascending.
  let nanoseconds: [UInt64]

  init(_ what: String, _ nanoseconds: [UInt64]) {
    self.what = what
    self.nanoseconds = nanoseconds.sorted()
  }

  /// Times `body` after a tenth as many runs that do not count. The sum of its results is checked, so that no
  /// work can be left out.
  init(_ what: String, times: Int, _ body: (Int) -> Int) {
    var sum = 0
    for index in 0..<max(1, times / 10) { sum &+= body(index) }
    var nanoseconds: [UInt64] = []
    nanoseconds.reserveCapacity(times)
    for index in 0..<times {
      let start = MonotonicTime.now()
      sum &+= body(index)
      nanoseconds.append(MonotonicTime.now().nanoseconds - start.nanoseconds)
    }
    precondition(sum > 0, "\(what) comes to nothing")
    self.init(what, nanoseconds)
  }

  /// The time that `share` of the runs did not exceed.
  func microseconds(share: Double) -> Double {
    guard !nanoseconds.isEmpty else { return 0 }
    let index = min(nanoseconds.count - 1, Int(Double(nanoseconds.count) * share))
    return Double(nanoseconds[index]) / 1000
  }

  var median: Double { microseconds(share: 0.5) }

  static let columns = ["what", "times", "median µs", "p99 µs"]

  var cells: [String] {
    [what, "\(nanoseconds.count)"]
      + [0.5, 0.99].map { Figure.decimal(microseconds(share: $0), places: 1) }
  }

  var json: JSONValue {
    [
      "what": .string(what), "times": .integer(Int64(nanoseconds.count)),
      "median_nanoseconds": .integer(Int64(median * 1000)),
      "p99_nanoseconds": .integer(Int64(microseconds(share: 0.99) * 1000)),
    ]
  }
}
