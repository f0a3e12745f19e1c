import Base
import Testing

@Suite struct MetricsTests {
  @Test func `a registry without instruments renders nothing`() {
    #expect(Metrics().render() == "")
  }

  @Test func `counters of one name are one family`() {
    let metrics = Metrics()
    let stripe = metrics.counter("coffer_webhooks_total", "Deliveries.", label: ("p", "stripe"))
    let other = metrics.counter("coffer_webhooks_total", "Deliveries.", label: ("p", "other"))
    stripe.add()
    stripe.add(2)
    other.add()
    #expect(
      metrics.render() == """
        # HELP coffer_webhooks_total Deliveries.
        # TYPE coffer_webhooks_total counter
        coffer_webhooks_total{p="stripe"} 3
        coffer_webhooks_total{p="other"} 1

        """)
  }

  @Test func `a gauge goes up and down`() {
    let metrics = Metrics()
    let gauge = metrics.gauge("coffer_connections", "Open ones.")
    gauge.set(5)
    gauge.add(-2)
    #expect(gauge.current == 3)
    #expect(
      metrics.render() == """
        # HELP coffer_connections Open ones.
        # TYPE coffer_connections gauge
        coffer_connections 3

        """)
  }

  @Test func `a histogram's buckets are cumulative`() {
    let metrics = Metrics()
    let histogram = metrics.histogram("coffer_seconds", "Time.", buckets: [0.1, 1])
    for value in [0.05, 0.1, 0.5, 2.0] { histogram.observe(value) }
    #expect(
      metrics.render() == """
        # HELP coffer_seconds Time.
        # TYPE coffer_seconds histogram
        coffer_seconds_bucket{le="0.1"} 2
        coffer_seconds_bucket{le="1.0"} 3
        coffer_seconds_bucket{le="+Inf"} 4
        coffer_seconds_sum 2.65
        coffer_seconds_count 4

        """)
  }

  @Test func `counting from four threads loses nothing`() {
    let counter = Metrics().counter("x", "x")
    let threads = (0..<4).map { _ in Thread { for _ in 0..<5000 { counter.add() } } }
    for thread in threads { thread.join() }
    #expect(counter.total == 20_000)
  }
}
