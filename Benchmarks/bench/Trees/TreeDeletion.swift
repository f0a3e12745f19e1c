import Base
import Crypto
import Glibc
import Storage

/// The time of other accounts' writes while one account's whole tree is deleted.
struct TreeDeletion {
  static let writerCount = 8
  private static let limitMilliseconds = 150
  /// A sweep that takes longer has failed.
  private static let patience = Instant.Span.minutes(20)

  private static let noteSeconds: Int64 = 10

  private let store: TreeStore
  private let victim: TreeAccount
  private let writers: [TreeAccount]
  private let options: Options

  init(
    _ store: TreeStore, deleting victim: TreeAccount, beside writers: [TreeAccount],
    _ options: Options
  ) {
    self.store = store
    self.victim = victim
    self.writers = writers
    self.options = options
  }

  func measure(_ report: inout Report) throws(BenchError) {
    let alone = try write(to: 1) { () throws(BenchError) in sleep(UInt32(options.seconds)) }
    let count = try recordCount()
    let start = MonotonicTime.now()
    var noted = start
    var answered: UInt64 = 0
    let beside = try write(to: 2) { () throws(BenchError) in
      answered = try delete()
      while try store.number("SELECT count(*) FROM sync.deletions") > 0 {
        if MonotonicTime.now() >= noted + .seconds(Self.noteSeconds) {
          noted = .now()
          store.progress.note("\(FoldBench.grouped(try recordCount())) records left")
        }
        guard MonotonicTime.now() < start + Self.patience else {
          throw .server("the sweep does not end")
        }
        usleep(200_000)
      }
    }
    let seconds = MonotonicTime.now().seconds(since: start)
    try requireNothingLeft()
    let name = store.engine.name
    let what = "\(FoldBench.grouped(count)) records"
    report.timings += [
      Timing("\(name): deleting a folder above \(what)", [answered]),
      Timing("\(name): a write of another account, alone", alone),
      Timing("… while \(what) are deleted", beside),
    ]
    let both = [alone, beside].map { Timing("", $0).microseconds(share: 0.99) / 1000 }
    report.figures += [
      .rate("\(store.engine)_sweep", Double(count) / seconds, "records swept, \(name),"),
      .cost(
        "\(store.engine)_write_p99_alone_milliseconds", both[0], "ms",
        "p99 of other accounts' writes before, \(name)", limit: Self.limitMilliseconds),
      .cost(
        "\(store.engine)_write_p99_beside_deletion_milliseconds", both[1], "ms",
        "p99 of them during the \(Figure.decimal(seconds, places: 1)) s of the deletion, \(name)",
        limit: Self.limitMilliseconds),
    ]
  }

  /// The time of the writers' requests while `body` ran; each renames one of its last files.
  private func write(
    to fileFromEnd: Int, during body: () throws(BenchError) -> Void
  ) throws(BenchError) -> [UInt64] {
    let isStopped = Locked(false)
    let tally = Locked<(nanoseconds: [UInt64], failure: BenchError?)>(([], nil))
    let threads = writers.map { account in
      Thread { [port = store.server.port] in
        var own: [UInt64] = []
        do throws(BenchError) {
          let client = try TreeClient(port: port)
          var record = account.record(account.shape.fileCount - fileFromEnd)
          while !isStopped.withLock({ $0 }) {
            let before = record
            record.nameSeed = Random.bytes(16)
            own.append(try client.perform(account.change(record, from: before)))
          }
        } catch {
          tally.withLock { $0.failure = error }
        }
        tally.withLock { $0.nanoseconds += own }
      }
    }
    var failure: BenchError?
    do throws(BenchError) { try body() } catch { failure = error }
    isStopped.withLock { $0 = true }
    for thread in threads { thread.join() }
    let (nanoseconds, trouble) = tally.withLock { $0 }
    if let failure = failure ?? trouble { throw failure }
    return nanoseconds
  }

  private func delete() throws(BenchError) -> UInt64 {
    let top = victim.record(0)
    var deleted = top
    deleted.isDeleted = true
    return try TreeClient(port: store.server.port).perform(victim.change(deleted, from: top))
  }

  private func recordCount() throws(BenchError) -> Int {
    try store.number("SELECT record_count FROM sync.accounts WHERE id = $1", .id(victim.id))
  }

  /// Requires that only the root is still charged.
  private func requireNothingLeft() throws(BenchError) {
    let usage = try store.number(
      "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(victim.id))
    guard usage == TreeFill.recordFee else {
      throw .server("after the deletion \(usage) bytes are charged")
    }
  }
}
