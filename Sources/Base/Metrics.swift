/// Counters, gauges and histograms of this process, rendered in Prometheus' text format 0.0.4.
///
/// Labels are for small closed sets, never for an account. Instruments are registered once and used from any thread.
package final class Metrics: Sendable {
  package static let shared = Metrics()

  private let families = Locked<[Family]>([])

  package init() {}

  package func counter(_ name: String, _ help: String, label: (String, String)...) -> Counter {
    let counter = Counter(labels: label)
    register(name, help, "counter", counter)
    return counter
  }

  /// A counter for each case, whose raw value is the label's.
  package func counters<Case: CaseIterable & Hashable & RawRepresentable<String>>(
    _ name: String, _ help: String, by label: String
  ) -> [Case: Counter] {
    let all = Case.allCases.map { ($0, counter(name, help, label: (label, $0.rawValue))) }
    return Dictionary(uniqueKeysWithValues: all)
  }

  package func gauge(_ name: String, _ help: String, label: (String, String)...) -> Gauge {
    let gauge = Gauge(labels: label)
    register(name, help, "gauge", gauge)
    return gauge
  }

  /// `buckets` are upper bounds, ascending, in the unit that the name ends in.
  package func histogram(_ name: String, _ help: String, buckets: [Double]) -> Histogram {
    let histogram = Histogram(buckets: buckets)
    register(name, help, "histogram", histogram)
    return histogram
  }

  package func render() -> String {
    families.withLock { $0 }.map { family in
      "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(family.type)\n"
        + family.instruments.map { $0.lines(family.name) }.joined()
    }.joined()
  }

  private func register(
    _ name: String, _ help: String, _ type: String, _ instrument: any Instrument
  ) {
    families.withLock { families in
      if let index = families.firstIndex(where: { $0.name == name }) {
        families[index].instruments.append(instrument)
      } else {
        families.append(Family(name: name, help: help, type: type, instruments: [instrument]))
      }
    }
  }

  private struct Family {
    let name: String
    let help: String
    let type: String
    var instruments: [any Instrument]
  }

  fileprivate protocol Instrument: Sendable {
    func lines(_ name: String) -> String
  }

  /// A number that only grows.
  package final class Counter: Instrument {
    private let value = Locked<Int64>(0)
    private let labels: [(String, String)]

    fileprivate init(labels: [(String, String)]) { self.labels = labels }

    package func add(_ amount: Int64 = 1) { value.withLock { $0 += amount } }
    package var total: Int64 { value.withLock { $0 } }

    fileprivate func lines(_ name: String) -> String { "\(name)\(text(of: labels)) \(total)\n" }
  }

  /// A number that goes up and down.
  package final class Gauge: Instrument {
    private let value = Locked<Int64>(0)
    private let labels: [(String, String)]

    fileprivate init(labels: [(String, String)]) { self.labels = labels }

    package func set(_ number: Int64) { value.withLock { $0 = number } }
    package func add(_ amount: Int64) { value.withLock { $0 += amount } }
    package var current: Int64 { value.withLock { $0 } }

    fileprivate func lines(_ name: String) -> String { "\(name)\(text(of: labels)) \(current)\n" }
  }

  /// The distribution of observed values over fixed buckets.
  package final class Histogram: Instrument {
    private struct State {
      var counts: [Int64]
      var sum = 0.0
    }

    private let buckets: [Double]
    private let state: Locked<State>

    fileprivate init(buckets: [Double]) {
      self.buckets = buckets
      state = Locked(State(counts: Array(repeating: 0, count: buckets.count + 1)))
    }

    package func observe(_ value: Double) {
      let index = buckets.firstIndex { value <= $0 } ?? buckets.count
      state.withLock { state in
        state.counts[index] += 1
        state.sum += value
      }
    }

    /// Runs under the lock: a copy of the counts that is read later looks like a race to the thread sanitizer.
    fileprivate func lines(_ name: String) -> String {
      state.withLock { state in
        var text = ""
        var total: Int64 = 0
        for (index, count) in state.counts.enumerated() {
          total += count
          let bound = index < buckets.count ? "\(buckets[index])" : "+Inf"
          text += "\(name)_bucket{le=\"\(bound)\"} \(total)\n"
        }
        return text + "\(name)_sum \(state.sum)\n\(name)_count \(total)\n"
      }
    }
  }
}

private func text(of labels: [(String, String)]) -> String {
  guard !labels.isEmpty else { return "" }
  return "{" + labels.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ",") + "}"
}
