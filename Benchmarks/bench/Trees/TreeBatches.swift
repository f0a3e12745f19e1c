import Base
import Crypto
import Glibc
import SeededRandom
import Storage

/// Batches of 500 new records from several accounts at once, and the share of their signatures.
struct TreeBatches {
  static let accountCount = 4
  private static let recordCount = 500

  private let store: TreeStore
  private let accounts: [TreeAccount]
  private let options: Options

  init(_ store: TreeStore, _ accounts: [TreeAccount], _ options: Options) {
    self.store = store
    self.accounts = accounts
    self.options = options
  }

  func measure(_ report: inout Report) throws(BenchError) {
    // Different from the ids of the accounts' roots.
    var random = SeededGenerator(seed: ~options.seed)
    var requests = Requests()
    requests.reserve(options.batchCount, byteCountEach: Self.recordCount * 1200)
    for index in 0..<options.batchCount {
      requests.append(batch(accounts[index % accounts.count], &random))
    }
    let check = try secondsPerCheck()
    var settings = options
    settings.connectionCount = Self.accountCount
    settings.threadCount = 1
    // All batches are timed, because it is not known before how many fit into a time.
    settings.warmUpSeconds = 0
    settings.seconds = 240
    let outcome = try Load(settings).run(requests, to: store.server, repeats: false)
    let name = store.engine.name
    report.rows.append(
      Report.Row(
        server: "\(name), batches of \(Self.recordCount)", outcome: outcome,
        storedCount: try storedCount() / Self.recordCount))
    // Plus the request's own signature.
    let checks = Double(Self.recordCount + 1) * check
    report.figures += [
      .rate("\(store.engine)_batches", outcome.perSecond, "batches, \(name),"),
      .rate(
        "\(store.engine)_batch_records", outcome.perSecond * Double(Self.recordCount),
        "records in them, \(name),"),
      .rate("\(store.engine)_checks", 1 / check, "Ed25519 checks of such a record on one core"),
      Figure(
        name: "\(store.engine)_check_share_percent",
        value: Int((checks * 1e8 / max(1, outcome.serverMicrosecondsEach)).rounded()),
        text: Figure.decimal(checks * 1e8 / max(1, outcome.serverMicrosecondsEach), places: 1)
          + " % of the server's processor time in them is signature checks, \(name)"),
    ]
  }

  /// A new folder and 499 new documents in it.
  private func batch(_ account: TreeAccount, _ random: inout SeededGenerator) -> Requests {
    let folder = Identifier(high: random.next(), low: random.next())
    let changes = (0..<Self.recordCount).map { index in
      let id = index == 0 ? folder : Identifier(high: random.next(), low: random.next())
      let record = TreeRecord(
        id: id, owner: account.id, parent: index == 0 ? account.root : folder,
        isFolder: index == 0, nameSeed: id.bytes)
      return record.change(from: nil, signedBy: account.key)
    }
    return account.change(changes)
  }

  private func storedCount() throws(BenchError) -> Int {
    var count = 0
    for account in accounts {
      count += try store.number(
        "SELECT record_count - 1 FROM sync.accounts WHERE id = $1", .id(account.id))
    }
    return count
  }

  /// Processor time of one check of a statement as long as a record's, with its key parsed each time.
  private func secondsPerCheck() throws(BenchError) -> Double {
    let key = Ed25519PrivateKey()
    let message = Random.bytes(820)
    let signature = key.signature(for: message)
    let start = Self.threadSeconds()
    var count = 0
    while Self.threadSeconds() - start < 1 {
      guard key.publicKey.isValid(signature: signature, for: message) else {
        throw .command("a signature does not hold")
      }
      count += 1
    }
    return (Self.threadSeconds() - start) / Double(count)
  }

  private static func threadSeconds() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
