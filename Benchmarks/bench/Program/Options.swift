import Glibc

/// The options of the command line.
struct Options: Sendable {
  enum Subject: String, CaseIterable {
    case webhooks, backlog, reconcile, kept, sync, streams, content, fold, tree, logs, worst
    case documents, questions
  }

  enum Form { case text, json, markdown }

  enum Store: String, CaseIterable { case stripe, apple, google }

  var subject = Subject.webhooks
  /// The stores whose webhooks are measured, in this order.
  var stores = Store.allCases
  var seconds = 10
  var warmUpSeconds = 2
  var connectionCount = 64
  var threadCount = 1
  /// Requests prepared for each server, all of them different.
  var requestCount = 150_000
  var accountCount = 64
  var documentCount = 32
  /// streams: the larger of the two numbers of open streams.
  var streamCount = 18_000
  /// Subscriptions in the larger of the two ledgers to which an event is added.
  var storedCount = 100_000
  /// Files in the larger of the two trees, and rounds of ten changes to both.
  var fileCount = 1_000_000
  var roundCount = 100
  /// Messages of the larger log in the end.
  var messageCount = 1_000_000
  /// Batches of 500 new records.
  var batchCount = 160
  var engines = TreeStore.Engine.allCases
  /// Without a URL only SQLite is measured.
  var postgresURL: String?
  /// content: the setting of an object store in an S3 service; nil leaves it out. And the peer's program.
  var bucket: String?
  var rclone = "rclone"
  var seed: UInt64 = 1
  /// The directory of another build's `coffer-billing`, which is measured next to ours.
  var against: String?
  /// backlog, reconcile: the number of subscriptions, each of which is renewed once in thirty days, and the
  /// days whose deliveries come at once, or never.
  var subscriptionCount = 1_000_000
  var dayCount = 3
  /// backlog: the number of clients that sync in the meantime.
  var clientCount = 200
  /// Leaves out the peers, for trying a change; there are no ratios then.
  var measuresOursOnly = false
  var form = Form.text
  /// The document whose region about the subject is replaced with the tables.
  var document: String?
  /// The directory for samples to train dictionaries; nil if none are wanted.
  var samples: String?
  /// The directory of the databases. It needs a real disk, otherwise durability costs nothing.
  var directory = ".build/bench-data"

  static let usage = """
    ops/bench: measures this build's programs over loopback, durable, with everything verified

    usage: ops/bench SUBJECT [options]

      webhooks  signed deliveries of each store a second, against bare libmicrohttpd, OpenSSL's
                P-256 and FastAPI services, what the disk alone allows and another build; where
                each microsecond goes; and with a flood of forged ones
      backlog   days of many subscriptions' deliveries of all three stores at once, some doubled,
                out of order, while clients sync: time until every schedule is right
      reconcile whole runs over Stripe's and Google Play's subscriptions after days without any delivery,
                and when nothing is wrong: calls for each subscription, time, memory
      kept      what compressing and sealing a delivery takes, and what is left of it
      sync      signed 4 kB content writes a second, against OpenSSL's Ed25519 on one core
      streams   live streams: memory of an idle one, time from a commit to the event beside 64
                writers, and what the streams cost these, on each engine
      content   downloads and uploads of 4 kB to 100 MB beside nginx, their memory, a resumed
                upload, and an S3 service beside rclone
      fold      coverage of ten years in memory; recording one more event among many others
      tree      one change, one pull and the quota check in an account with 1,000 files and with a
                million, on each engine; a first pull of a million; large batches; what deleting
                a million does to other accounts' writes
      logs      300 messages appended and read in a log of 1,000 and in one of a million, on each
                engine, beside raw inserts and Actual's algorithm in Python; a first pull of a
                million by a client of Actual
      documents versions of documents pushed beside Ed25519's own rate, pushed and pulled in an account
                of 1,000 and of a million, on each engine; a new device's first pull
      worst     the dearest requests that a stranger or a free account can choose, each beside an
                ordinary client, on each engine
      questions the operator's cookbook, each question once by coffer beside a million accounts:
                time and memory

      --seconds N      the timed part of each server (10)
      --warm-up N      seconds before it that do not count (2)
      --connections N  kept alive, one request at a time on each (64)
      --threads N      of the load generator, on the same cores (1)
      --requests N     prepared before the clock starts, no two alike (150000)
      --store NAME     webhooks, reconcile: stripe, apple or google alone; the App Store has no reconcile
      --against DIR    webhooks: the directory of another build's coffer-billing, such as
                       /elsewhere/.build/release, measured by turns with this one
      --subscriptions N  backlog: how many there are (1000000); reconcile (50000)
      --days N         backlog: of deliveries that come at once; reconcile: that never come (3)
      --clients N      backlog: how many sync meanwhile, a write a second each (200)
      --accounts N     sync, streams: how many accounts write (64); questions: how many there
                       are (1000000)
      --documents N    sync, streams: documents of each account that writes (32)
      --streams N      streams: the larger number of them (18000)
      --stored N       fold: subscriptions in the larger ledger (100000)
      --files N        tree, documents: files of the larger account (1000000)
      --rounds N       tree: rounds of ten changes in both accounts (100); logs: of 300 messages
                       in both logs; documents: of 20 documents in both accounts (100)
      --messages N     logs: messages of the larger log in the end (1000000)
      --batches N      tree: batches of 500 new records (160)
      --engine NAME    streams, tree, logs, documents, worst: sqlite or postgres alone
      --postgres URL   streams, tree, logs, documents, worst: an empty database; ops/bench starts
                       a cluster of its own
      --bucket URL     content: s3://<bucket>?region=…&endpoint=…; ops/bench starts a service
      --rclone FILE    content: the program rclone (rclone in PATH)
      --samples DIR    kept: also writes what the stores' dictionaries are trained on
      --seed N         what ids and contents derive from (1)
      --directory DIR  where databases are written; not on tmpfs (.build/bench-data)
      --ours           leave the peers out, for trying a change
      --json           one JSON object instead of tables
      --markdown       the tables as documents have them
      --write FILE     puts those tables into FILE, between <!-- ops/bench SUBJECT --> and
                       <!-- end -->
      --help           this text

    exit: 0 measured, 1 a server refused a request or lost one, 64 usage, 70 it did not work
    """

  init(_ arguments: [String]) throws(BenchError) {
    var rest = arguments[...]
    guard let name = rest.popFirst(), let subject = Subject(rawValue: name) else {
      throw .usage(
        "say what to measure: webhooks, backlog, reconcile, kept, sync, streams, content, fold, "
          + "tree, logs, documents, worst or questions (--help tells more)"
      )
    }
    self.subject = subject
    switch subject {
    case .reconcile: (subscriptionCount, stores) = (50_000, [.stripe, .google])
    case .questions: accountCount = 1_000_000
    // For one of several loads: signatures hold for five minutes.
    case .streams: requestCount = 60_000
    case .webhooks, .backlog, .kept, .sync, .content, .fold, .tree, .logs, .documents, .worst: break
    }
    while let flag = rest.popFirst() {
      switch flag {
      case "--json": form = .json
      case "--markdown": form = .markdown
      case "--ours": measuresOursOnly = true
      default: try set(flag, rest.popFirst())
      }
    }
    guard connectionCount >= threadCount else {
      throw .usage("--connections must be at least --threads")
    }
    guard subject != .reconcile || !stores.contains(.apple) else {
      throw .usage("reconcile has no App Store")
    }
  }

  private mutating func set(_ flag: String, _ value: String?) throws(BenchError) {
    guard let value else { throw .usage("\(flag) needs a value") }
    func number(_ range: ClosedRange<Int>) throws(BenchError) -> Int {
      guard let number = Int(value), range.contains(number) else {
        throw .usage("\(flag) takes \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    switch flag {
    // A Stripe timestamp and an RFC 9421 signature both hold for five minutes.
    case "--seconds": seconds = try number(1...120)
    case "--warm-up": warmUpSeconds = try number(0...60)
    case "--connections": connectionCount = try number(1...512)
    case "--threads": threadCount = try number(1...16)
    case "--requests": requestCount = try number(100...2_000_000)
    case "--accounts":
      accountCount = try number(subject == .questions ? 3000...10_000_000 : 1...10_000)
    case "--streams": streamCount = try number(2000...1_000_000)
    case "--documents": documentCount = try number(1...10_000)
    case "--stored": storedCount = try number(1000...1_000_000)
    case "--files": fileCount = try number(2000...5_000_000)
    // Each round changes seven files of the small tree, each file once.
    case "--rounds": roundCount = try number(1...100)
    // Rounds and warm-up append at most 31,500 of them.
    case "--messages": messageCount = try number(40_000...1_000_000)
    case "--batches": batchCount = try number(4...2000)
    case "--postgres": postgresURL = value
    case "--engine":
      guard let engine = TreeStore.Engine(rawValue: value) else {
        throw .usage("--engine takes sqlite or postgres")
      }
      engines = [engine]
    case "--store":
      guard let store = Store(rawValue: value) else {
        throw .usage("--store takes stripe, apple or google")
      }
      stores = [store]
    case "--against":
      guard unsafe access("\(value)/coffer-billing", X_OK) == 0 else {
        throw .usage("--against \(value): there is no coffer-billing in it that can be run")
      }
      against = value
    case "--subscriptions": subscriptionCount = try number(300...10_000_000)
    case "--days": dayCount = try number(1...15)
    case "--clients": clientCount = try number(1...500)
    case "--write": document = value
    case "--seed": seed = UInt64(try number(0...Int.max))
    case "--directory": directory = value
    case "--samples": samples = value
    case "--bucket": bucket = value
    case "--rclone": rclone = value
    default: throw .usage("there is no option \(flag) (--help lists them)")
    }
  }
}
