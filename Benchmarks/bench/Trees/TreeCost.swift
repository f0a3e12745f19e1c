import Base
import SeededRandom

/// The cost of one change and one pull in a small and in a large account, by turns in one run.
struct TreeCost {
  /// Rounds that do not count, because they bring both trees' pages into memory.
  private static let warmUpCount = 20
  private static let contentByteCount = 1024

  private enum Step: String, CaseIterable {
    case create = "create one file"
    case rename = "rename one file"
    case move = "move one file"
    case write = "write 1 kB of content"

    /// The ten changes of one round, which are then pulled.
    static let round: [Step] = [
      .create, .rename, .move, .write, .create, .rename, .move, .create, .rename, .write,
    ]
  }

  private let store: TreeStore
  private let options: Options
  /// The small account first, each with the cursor of a device that has pulled everything.
  private let accounts: [(account: TreeAccount, cursor: String)]

  init(
    _ store: TreeStore, _ accounts: [(account: TreeAccount, cursor: String)], _ options: Options
  ) {
    self.store = store
    self.accounts = accounts
    self.options = options
  }

  func measure(_ report: inout Report) throws(BenchError) {
    var sides: [Side] = []
    for (account, cursor) in accounts {
      sides.append(
        Side(account, cursor, try TreeClient(port: store.server.port)))
    }
    for round in 0..<(Self.warmUpCount + options.roundCount) {
      if round == Self.warmUpCount { for side in sides { side.times = [:] } }
      // The first account meets what the other left behind, so they also take turns in that.
      let order = round.isMultiple(of: 2) ? sides : sides.reversed()
      for step in Step.round {
        for side in order { try side.perform(step) }
      }
      for side in order { try side.pull() }
      for side in order { try side.readUsage() }
    }
    try store.setCap(0, of: accounts.map(\.account), from: 1)
    for round in 0..<options.roundCount {
      for side in round.isMultiple(of: 2) ? sides : sides.reversed() { try side.createInVain() }
    }
    summarize(sides, &report)
  }

  private func summarize(_ sides: [Side], _ report: inout Report) {
    let more = [Side.pulling, Side.readingUsage, Side.refusing]
    for what in Step.allCases.map(\.rawValue) + more {
      let timings = sides.map { side in
        Timing(
          "\(store.engine.name): \(what), \(FoldBench.grouped(side.account.shape.fileCount)) files",
          side.times[what] ?? [])
      }
      report.timings += timings
      let name = what.split(separator: " ").prefix(1).joined()
      report.figures.append(
        .growth(
          "\(store.engine)_\(name)_ratio", timings[1].median / max(0.001, timings[0].median),
          "times as long for: \(what), \(store.engine.name)", limit: 1.3))
    }
  }

  /// One account, what was done to it, and the time of it.
  private final class Side {
    static let pulling = "pull ten changes"
    static let readingUsage = "usage and cap"
    static let refusing = "507 for one file above the cap"

    let account: TreeAccount
    var times: [String: [UInt64]] = [:]
    private let client: TreeClient
    private var random: SeededGenerator
    private var cursor: String
    /// Files not changed yet, so that each change is of another one.
    private var untouched: [Int]
    private let content: [UInt8]

    init(_ account: TreeAccount, _ cursor: String, _ client: TreeClient) {
      self.account = account
      self.cursor = cursor
      self.client = client
      random = SeededGenerator(seed: account.root.low)
      content = random.bytes(count: contentByteCount)
      untouched = (1..<account.shape.fileCount).filter { !account.shape.isFolder($0) }
    }

    func perform(_ step: Step) throws(BenchError) {
      let request =
        switch step {
        case .create: create()
        case .rename: rename()
        case .move: move()
        case .write: account.write(content, to: account.shape.id(draw()))
        }
      times[step.rawValue, default: []].append(try client.perform(request))
    }

    func pull() throws(BenchError) {
      let page = try client.pull(account, since: cursor, limit: 500)
      guard page.changeCount == Step.round.count else {
        throw .server("\(page.changeCount) changes instead of \(Step.round.count)")
      }
      cursor = page.cursor
      times[Self.pulling, default: []].append(page.nanoseconds)
    }

    /// Reads the numbers by which a write above the cap is judged.
    func readUsage() throws(BenchError) {
      let nanoseconds = try client.perform(account.request("GET", "/v1/account", []))
      times[Self.readingUsage, default: []].append(nanoseconds)
    }

    func createInVain() throws(BenchError) {
      let answer = try client.send(create())
      guard answer.status == 507 else { throw .server("not refused:\n\(answer.head)") }
      times[Self.refusing, default: []].append(answer.nanoseconds)
    }

    private func create() -> Requests {
      let id = Identifier(high: random.next(), low: random.next())
      let record = TreeRecord(
        id: id, owner: account.id, parent: account.shape.id(drawFolder()), isFolder: false,
        nameSeed: id.bytes)
      return account.change(record, from: nil)
    }

    private func rename() -> Requests {
      let before = account.record(draw())
      var record = before
      record.nameSeed = random.bytes(count: 16)
      return account.change(record, from: before)
    }

    private func move() -> Requests {
      let before = account.record(draw())
      var record = before
      while record.parent == before.parent { record.parent = account.shape.id(drawFolder()) }
      return account.change(record, from: before)
    }

    private func draw() -> Int {
      precondition(!untouched.isEmpty, "more rounds than files")
      let place = Int.random(in: untouched.indices, using: &random)
      untouched.swapAt(place, untouched.count - 1)
      return untouched.removeLast()
    }

    private func drawFolder() -> Int {
      account.shape.filledFolder(
        Int.random(in: 0..<account.shape.filledFolderCount, using: &random))
    }
  }
}
