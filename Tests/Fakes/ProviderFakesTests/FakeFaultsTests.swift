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

  @Test func `an empty list ends what was to fail`() {
    let faults = FakeFaults()
    faults.fail(next: [.timeout, .timeout])
    faults.fail(next: [])
    #expect(faults.failureOfNextRequest() == nil)
  }
}
