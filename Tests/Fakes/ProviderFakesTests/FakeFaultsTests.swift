import ProviderFakes
import Testing

@Suite struct FakeFaultsTests {
  @Test func `each scripted failure meets one request, in order`() {
    let faults = FakeFaults()
    _ = faults.failureOfNextRequest()
    faults.fail(next: [.status(429, retryAfter: 7), .timeout])
    let failures = (0..<3).map { _ in faults.failureOfNextRequest() }
    #expect(failures == [.status(429, retryAfter: 7), .timeout, nil])
  }
}
