/// The metrics of a running program, read once.
struct Scrape {
  private let values: [String: Double]

  /// `port` is the port of the program's metrics listener.
  init(port: UInt16) throws(BenchError) {
    var requests = Requests()
    requests.append("GET", "/metrics", host: "127.0.0.1", fields: [], body: [])
    let socket = try Socket(port: port)
    try socket.send(requests, 0)
    var status = try socket.receive()
    while status == nil { status = try socket.receive() }
    guard status == 200 else { throw .server("no metrics:\n\(socket.lastAnswer)") }
    var values: [String: Double] = [:]
    for line in socket.lastAnswer.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      if parts.count == 2, let value = Double(parts[1]) { values[String(parts[0])] = value }
    }
    self.values = values
  }

  /// The value of a metric without labels; nil if there is no such metric.
  func value(of name: String) -> Double? { values[name] }

  /// The number of values up to each bound of a histogram, ascending; the last bound is infinite.
  func buckets(of name: String) -> [(bound: Double, count: Double)] {
    values.compactMap { key, count in
      guard key.hasPrefix("\(name)_bucket{le=\""), key.hasSuffix("\"}") else { return nil }
      let bound = key.dropFirst(name.count + 12).dropLast(2)
      return (bound == "+Inf" ? .infinity : Double(bound) ?? .infinity, count)
    }.sorted { $0.0 < $1.0 }
  }

  /// The mean number of writes in a commit; 0 if there was none.
  var meanBatch: Double { commitCount > 0 ? writeCount / commitCount : 0 }

  /// The mean number of deliveries in a commit, and in one transaction of the ledger.
  var deliveriesPerCommit: Double { commitCount > 0 ? deliveryCount / commitCount : 0 }
  var deliveriesPerWrite: Double { writeCount > 0 ? deliveryCount / writeCount : 0 }

  private var commitCount: Double { values["coffer_storage_batch_size_count"] ?? 0 }
  private var writeCount: Double { values["coffer_storage_batch_size_sum"] ?? 0 }
  private var deliveryCount: Double {
    values.filter { $0.key.hasPrefix("coffer_billing_deliveries_total") }.values.reduce(0, +)
  }

  /// Deliveries in a commit, and the number of groups in which they were recorded.
  var groups: String {
    let deliveries = Figure.decimal(deliveriesPerCommit, places: 1)
    let groups = Figure.decimal(meanBatch, places: 1)
    return "mean \(deliveries) deliveries in \(groups) groups, \(Int(commitCount)) commits"
  }

  /// Writes in a commit: their mean, and their distribution by powers of two.
  var batches: String {
    let name = "coffer_storage_batch_size"
    guard let count = values["\(name)_count"], count > 0 else { return "none" }
    var text = "mean \(Figure.decimal(meanBatch, places: 1)) in \(Int(count)) commits;"
    var below = 0.0
    for bound in [1, 2, 4, 8, 16, 32, 64, 128] {
      let total =
        values["\(name)_bucket{le=\"\(bound).0\"}"] ?? values["\(name)_bucket{le=\"\(bound)\"}"]
      guard let total, total > below else { continue }
      text += " ≤\(bound): \(Int((total - below) / count * 100 + 0.5)) %"
      below = total
    }
    return text
  }
}
