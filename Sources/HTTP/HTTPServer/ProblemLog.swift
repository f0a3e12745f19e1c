import Base

/// Writes a line, with its id, for each request that was refused or failed, or that belongs to a recorded trace.
///
/// Each client has a share: 100 lines at once and five a second; all together ten times that. The rest is counted.
final class ProblemLog: Sendable {
  private let ofClient = TokenBuckets<String>(burst: 100, perSecond: 5, keyCountMax: 4096)
  private let ofAll = TokenBuckets<Bool>(burst: 1000, perSecond: 50, keyCountMax: 1)
  private let leftOut = Locked(0)

  /// Takes the place of a line about a client; false if there is none left.
  func take(_ client: String) -> Bool {
    guard ofClient.take(ClientNetwork.of(client)) != nil, ofAll.take(true) != nil else {
      leftOut.withLock { $0 += 1 }
      return false
    }
    let count = leftOut.withLock { count in
      defer { count = 0 }
      return count
    }
    if count > 0 { Log.warning("http.requests_not_logged", ["count": "\(count)"]) }
    return true
  }
}
