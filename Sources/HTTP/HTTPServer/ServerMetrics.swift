import Base

/// The metrics of a server, under its name: `coffer_sync_http_requests_total` and its siblings.
final class ServerMetrics: Sendable {
  let inFlight: Metrics.Gauge
  let connections: Metrics.Gauge
  let connectionsRefused: Metrics.Counter
  let heldBytes: Metrics.Gauge
  private let requests: [Metrics.Counter]
  private let aborted: Metrics.Counter
  private let duration: Metrics.Histogram
  private let bytesIn: Metrics.Counter
  private let bytesOut: Metrics.Counter

  private static let servers = Locked<[String: ServerMetrics]>([:])

  /// The set of metrics of a name. Servers with the same name share it.
  static func named(_ name: String) -> ServerMetrics {
    servers.withLock { servers in
      if let metrics = servers[name] { return metrics }
      let metrics = ServerMetrics(name)
      servers[name] = metrics
      return metrics
    }
  }

  private init(_ name: String) {
    let prefix = "coffer_\(name.replacing("-", with: "_"))_http_"
    let shared = Metrics.shared
    requests = ["1xx", "2xx", "3xx", "4xx", "5xx", "507"].map { status in
      shared.counter(
        prefix + "requests_total",
        "Responses, by status class; 507 (over the cap) is counted separately.",
        label: ("status", status))
    }
    aborted = shared.counter(
      prefix + "requests_aborted_total", "Requests whose connection ended before the response.")
    inFlight = shared.gauge(prefix + "requests_in_flight", "Requests in progress.")
    connections = shared.gauge(prefix + "connections", "Open connections.")
    heldBytes = shared.gauge(
      prefix + "held_bytes", "Bytes of request and response bodies held in memory.")
    connectionsRefused = shared.counter(
      prefix + "connections_refused_total", "Connections refused because of a limit.")
    bytesIn = shared.counter(prefix + "received_bytes_total", "Bytes of request heads and bodies.")
    bytesOut = shared.counter(prefix + "sent_bytes_total", "Bytes of response bodies.")
    duration = shared.histogram(
      prefix + "request_duration_seconds", "From the end of the request head to the response.",
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
  }

  func answered(_ status: Int, received: Int64, sent: Int64, seconds: Double) {
    requests[status == 507 ? 5 : min(max(status / 100, 1), 5) - 1].add()
    bytesIn.add(received)
    bytesOut.add(sent)
    duration.observe(seconds)
  }

  func abortedBeforeAnswer(received: Int64) {
    aborted.add()
    bytesIn.add(received)
  }
}
