import Base
import Crypto
import Glibc
import Storage
import TestEngines
import Testing

/// What programs on one database tell each other of their commits.
@Suite struct NewsTests {
  private static let tree = News.Topic("tree")

  /// What a listener has heard.
  private final class Ear: Sendable {
    private let heard = Locked<(news: Set<News>, blanks: Int)>(([], 0))

    func hear(_ one: NewsListener.Heard) {
      heard.signal { heard in
        switch one {
        case .news(let news): heard.news.formUnion(news)
        case .anything: heard.blanks += 1
        }
      }
    }

    var news: Set<News> { heard.withLock { $0.news } }

    /// Waits until it has heard them; false after ten seconds.
    func has(_ news: Set<News>) -> Bool {
      heard.wait(until: .now() + .seconds(10)) { $0.news.isSuperset(of: news) ? true : nil }
        ?? false
    }

    /// Waits until it listens.
    func isListening() -> Bool {
      heard.wait(until: .now() + .seconds(10)) { $0.blanks > 0 ? true : nil } ?? false
    }
  }

  private static func write(_ database: Database, _ news: [News]) throws {
    try database.write(for: nil) { transaction in
      for one in news { transaction.report(one) }
    }
  }

  @Test(arguments: TestEngine.available)
  func `every program hears what any program commits, its own commits too`(
    engine: TestEngine
  ) throws {
    let scratch = try ScratchDatabase(engine)
    let sync = try scratch.open(.sync)
    let billing = try scratch.open(.billing)
    let other = try scratch.open(.sync)
    defer { for database in [sync, billing, other] { database.close() } }
    let ears = [Ear(), Ear()]
    let listeners = [sync.listen(ears[0].hear), other.listen(ears[1].hear)]
    defer { for listener in listeners { listener.stop() } }
    for ear in ears { try #require(ear.isListening()) }
    let news = [
      News(of: Random.identifier(), Self.tree, number: 7, count: 3),
      News(of: Random.identifier(), News.Topic("logs"), Random.identifier(), number: .max),
      News(of: Random.identifier(), .account, isQuiet: true),
    ]
    for (database, one) in zip([sync, billing, other], news) { try Self.write(database, [one]) }
    for ear in ears { #expect(ear.has(Set(news))) }
  }

  @Test(arguments: TestEngine.available)
  func `nothing is told of a transaction that is undone`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open(.sync)
    defer { database.close() }
    let ear = Ear()
    let listener = database.listen(ear.hear)
    defer { listener.stop() }
    try #require(ear.isListening())
    let (undone, kept) = (
      News(of: Random.identifier(), Self.tree), News(of: Random.identifier(), Self.tree)
    )
    #expect(throws: DatabaseError.busy(retryAfterSeconds: 1)) {
      try database.write(for: nil) { transaction in
        transaction.report(undone)
        throw DatabaseError.busy(retryAfterSeconds: 1)
      }
    }
    _ = try database.rehearse { transaction in transaction.report(undone) }
    try Self.write(database, [kept])
    #expect(ear.has([kept]))
    #expect(ear.news == [kept])
  }

  @Test(arguments: TestEngine.available)
  func `a command that ends at once after its commit is heard`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let server = try scratch.open(.sync)
    defer { server.close() }
    let ear = Ear()
    let listener = server.listen(ear.hear)
    defer { listener.stop() }
    try #require(ear.isListening())
    let news = Set((0..<300).map { News(of: Random.identifier(), Self.tree, number: $0) })
    let command = try scratch.open(.sync)
    try Self.write(command, Array(news))
    command.close()
    #expect(ear.has(news))
  }

  /// Opens a database on SQLite with a program that listens. `body` gets the database's directory, too.
  private static func whileOneListens(
    _ body: (_ directory: String, _ database: Database, _ ear: Ear) throws -> Void
  ) throws {
    let scratch = try ScratchDatabase(.sqlite)
    let database = try scratch.open(.sync)
    defer { database.close() }
    guard case .sqlite(let directory) = scratch.location else { return }
    let ear = Ear()
    let listener = database.listen(ear.hear)
    defer { listener.stop() }
    try #require(ear.isListening())
    try body(directory, database, ear)
  }

  @Test func `the socket of a program that was killed is removed, and disturbs no one`() throws {
    try Self.whileOneListens { directory, database, ear in
      let dead = "\(directory)/news/dead"
      guard DeadSocket.make(at: dead) else { return }
      let news = News(of: Random.identifier(), Self.tree)
      try Self.write(database, [news])
      #expect(ear.has([news]))
      #expect(fileExists(dead) == false)
    }
  }

  @Test func `a program that was too busy for news is told of them once it reads again`() throws {
    try Self.whileOneListens { directory, database, ear in
      guard let busy = BusySocket(at: "\(directory)/news/busy") else { return }
      let news = News(of: Random.identifier(), Self.tree)
      try Self.write(database, [news])
      #expect(ear.has([news]))
      // By then the sender has given up. Nothing is committed afterwards.
      usleep(500_000)
      #expect(busy.read() == "*")
    }
  }

  @Test func `news that wait are told once, with the latest number`() {
    let account = Random.identifier()
    var waiting = News.Waiting()
    waiting.add([3, 2, 4].map { News(of: account, Self.tree, number: $0) })
    #expect(waiting.takeNews() == [News(of: account, Self.tree, number: 4, count: 3)])
    #expect(waiting.isEmpty)
  }

  @Test func `news that wait say of each number whose it is, and whether it was quiet`() {
    let (account, other) = (Random.identifier(), Random.identifier())
    let third = Random.identifier()
    var waiting = News.Waiting()
    waiting.add([
      News(of: account, Self.tree, number: 1, by: [1]),
      News(of: account, Self.tree, number: 2, by: [1]),
      News(of: account, Self.tree, number: 4, by: [1]),
      News(of: other, Self.tree, number: 1, by: [1]),
      News(of: other, Self.tree, number: 2, by: [2]),
      News(of: other, Self.tree, number: 3, by: [2]),
      News(of: third, Self.tree, number: 1, isQuiet: true), News(of: third, Self.tree, number: 2),
    ])
    let expected: Set = [
      News(of: account, Self.tree, number: 2, count: 2, by: [1]),
      News(of: account, Self.tree, number: 4, by: [1]),
      News(of: other, Self.tree, number: 1, by: [1]),
      News(of: other, Self.tree, number: 3, count: 2, by: [2]),
      News(of: third, Self.tree, number: 1, isQuiet: true), News(of: third, Self.tree, number: 2),
    ]
    #expect(waiting.takeNews().map { Set($0) } == expected)
  }

  @Test(arguments: TestEngine.available)
  func `news carry the key on whose request they came`(engine: TestEngine) throws {
    let scratch = try ScratchDatabase(engine)
    let database = try scratch.open(.sync)
    defer { database.close() }
    let ear = Ear()
    let listener = database.listen(ear.hear)
    defer { listener.stop() }
    try #require(ear.isListening())
    let (account, key) = (Random.identifier(), Random.bytes(32))
    try database.write(for: nil) { transaction in
      transaction.write(onRequestOf: key)
      transaction.report(News(of: account, Self.tree, number: 1))
    }
    #expect(ear.has([News(of: account, Self.tree, number: 1, by: key)]))
  }

  @Test func `a message has fewer bytes than PostgreSQL takes, and too much news are one word`() {
    var waiting = News.Waiting()
    waiting.add((0..<2000).map { _ in News(of: Random.identifier(), Self.tree, number: .max) })
    let messages = waiting.takeMessages()
    #expect(messages.count > 1)
    #expect(messages.allSatisfy { $0.utf8.count < 8000 })
    waiting.add((0..<2001).map { _ in News(of: Random.identifier(), Self.tree) })
    #expect(!waiting.isEmpty)
    #expect(waiting.takeMessages().count == 1)
    waiting.add((0..<2001).map { _ in News(of: Random.identifier(), Self.tree) })
    #expect(waiting.takeNews() == nil)
    #expect(waiting.isEmpty)
  }
}
