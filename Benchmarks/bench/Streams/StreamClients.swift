import Base

/// The accounts of the streams: of those who write all the time, of those who time what they are told, and one for each
/// stream that is idle.
struct StreamClients {
  let writers: SyncClients
  let probes: SyncClients
  private let writerCount: Int
  private let idle: SyncClients

  static let probeCount = 8

  /// Opens the accounts on a server that has none, and reads each once. Otherwise its first read would fill the
  /// database's caches while a stream is opened, and count as the stream's memory.
  init(
    _ store: TreeStore, _ load: Load, _ options: Options, streams count: Int
  ) throws(BenchError) {
    let writerCount = min(options.accountCount, count)
    self.writerCount = writerCount
    writers = SyncClients(
      accounts: writerCount, documentsEach: options.documentCount, seed: options.seed)
    probes = SyncClients(
      accounts: Self.probeCount, documentsEach: options.documentCount, seed: options.seed &+ 1)
    idle = SyncClients(
      accounts: count - writerCount, documentsEach: 0, seed: options.seed &+ 2)
    for clients in [writers, probes, idle] {
      try load.deliver(clients.accountRequests(now: .now), to: store.server)
    }
    let owners = try store.accountsByRoot()
    for clients in [writers, probes] {
      try load.deliver(clients.documentRequests(owners: owners, now: .now), to: store.server)
    }
    try load.deliver(requests("/v1/account", of: 0..<count), to: store.server)
  }

  /// A request of each of the clients that listen, in their order: the writers are the first.
  func requests(_ target: String, of range: Range<Int>) -> Requests {
    let first = range.clamped(to: 0..<writerCount)
    var requests = writers.requests("GET", target, of: first, now: .now)
    let rest = max(writerCount, range.lowerBound)..<max(writerCount, range.upperBound)
    requests.append(
      idle.requests(
        "GET", target, of: rest.lowerBound - writerCount..<rest.upperBound - writerCount,
        now: .now))
    return requests
  }
}
