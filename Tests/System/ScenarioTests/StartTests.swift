import Base
import Configuration
import Glibc
import LocalServer
import RawClient
import SeededRandom
import Storage
import TestDevices
import TestEngines
import TestFiles
import Testing

/// How the programs start and end.
@Suite struct StartTests {
  @Test(arguments: TestEngine.available)
  func `both programs start at once on an empty database`(engine: TestEngine) throws {
    let installation = try Installation(engine, with: .nothing)
    let servers = [try installation.launch(.sync), try installation.launch(.billing)]
    for server in servers { try server.waitUntilReady() }
    _ = try installation.device(of: servers[0])
    for server in servers { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
  }

  @Test(arguments: TestEngine.available)
  func `each program runs twice on one database`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "twice, \(engine)")
    let installation = try Installation(engine)
    let syncs = try [installation.start(.sync), installation.start(.sync)]
    let billings = try [installation.start(.billing), installation.start(.billing)]
    let writers = try (0..<4).map { number in
      try Writer(installation.device(of: syncs[number % 2]), seed: seed &+ UInt64(number))
    }
    let senders = (0..<4).map { Sender(port: billings[$0 % 2].port) }
    let threads =
      writers.map { writer in Thread { writer.write(times: 25) } }
      + senders.map { sender in Thread { sender.send(times: 25) } }
    for thread in threads { thread.join() }

    for (number, writer) in writers.enumerated() {
      try writer.check()
      let other = syncs[1 - number % 2]
      try writer.check(through: installation.device(of: other, key: writer.device.key))
    }
    #expect(senders.flatMap(\.trouble) == [])
    #expect(senders.flatMap(\.acknowledged).count == 100)
    for server in syncs + billings { #expect(server.stop() == .exited(0), "\(server.lastWords)") }
    try Books(installation).expectWhole(accountCount: 4)
    try Deliveries(installation).expectEach(of: senders.flatMap(\.acknowledged))
  }

  @Test(arguments: TestEngine.available)
  func `a stop under load breaks no promise`(engine: TestEngine) throws {
    let seed = SeededGenerator.seed(of: "stop, \(engine)")
    let installation = try Installation(engine)
    let sync = try installation.start(.sync)
    let billing = try installation.start(.billing)
    let writers = try (0..<3).map { number in
      try Writer(installation.device(of: sync), seed: seed &+ UInt64(number))
    }
    let sender = Sender(port: billing.port)
    let threads =
      writers.map { writer in Thread { writer.writeUntilLost() } }
      + [Thread { sender.sendUntilLost() }]
    _ = Locked(()).wait(until: .now() + .milliseconds(300)) { _ in Void?.none }
    #expect(sync.stop() == .exited(0), "\(sync.lastWords)")
    #expect(billing.stop() == .exited(0), "\(billing.lastWords)")
    for thread in threads { thread.join() }

    let restarted = try installation.start(.sync, port: sync.port)
    for writer in writers { try writer.checkAfterCrash() }
    #expect(restarted.stop() == .exited(0))
    try Books(installation).expectWhole(accountCount: 3)
    #expect(sender.trouble == [])
    let kept = try Deliveries(installation)
    kept.expectEach(of: sender.acknowledged)
  }

  @Test
  func `a directory without a store is taken for a disk that is missing, but at the first start`()
    throws
  {
    let installation = try Installation()
    #expect(try installation.start(.sync).stop() == .exited(0))
    Files.removeAll(installation.directory + "/objects")
    let again = try installation.launch(.sync)
    #expect(again.process.wait(within: .seconds(30)) == .exited(69))
    #expect(again.lastWords.contains("there is no object store in"), "\(again.lastWords)")
    #expect(Files.permissions(installation.directory + "/objects") == nil)
  }

  @Test func `a store is of one database at a time: of that whose server started on it last`()
    throws
  {
    let owner = try Installation()
    let store = owner.directory + "/objects"
    let stranger = try Installation(settings: ["COFFER_OBJECTS": "file://\(store)"])
    let sync = try owner.start(.sync)
    let history = try #require(Files.text(store + "/history"))
    let refused = try stranger.launch(.sync)
    #expect(refused.process.wait(within: .seconds(30)) == .exited(69))
    #expect(
      refused.lastWords.contains("the object store is another database's"), "\(refused.lastWords)")
    #expect(Files.text(store + "/history") == history)
    #expect(sync.stop() == .exited(0))
    #expect(try stranger.start(.sync).stop() == .exited(0))
    #expect(Files.text(store + "/history") != history)
  }

  @Test(arguments: [Program.sync, .billing])
  func `a program that is older than its database is not started again`(program: Program) throws {
    let installation = try Installation()
    let database = try Database.open(installation.location, owning: .sync)
    try database.write(for: nil) { transaction in
      try transaction.execute(
        "INSERT INTO sync.migrations SELECT count(*) + 1, 'x', digest, 0 FROM sync.migrations")
      _ = try transaction.execute("UPDATE sync.oldest_program SET number = 999")
    }
    database.close()
    let older = try installation.launch(program)
    #expect(older.process.wait(within: .seconds(30)) == .exited(78))
    #expect(older.lastWords.contains("run a newer program"), "\(older.lastWords)")
  }

  @Test(arguments: [Program.sync, .billing])
  func `a supervisor hears that the program is ready, lives and stops`(program: Program) throws {
    let installation = try Installation()
    let inbox = try #require(SupervisorInbox())
    let server = try installation.launch(
      program, settings: ["NOTIFY_SOCKET": inbox.name, "WATCHDOG_USEC": "3000000"])
    #expect(inbox.next() == "READY=1")
    #expect(server.isReady)
    #expect(inbox.next() == "WATCHDOG=1")
    server.process.send(SIGTERM)
    while let news = inbox.next(), news != "STOPPING=1" { #expect(news == "WATCHDOG=1") }
    #expect(server.process.wait(within: .seconds(30)) == .exited(0), "\(server.lastWords)")
  }

  @Test(arguments: [Program.sync, .billing])
  func `a port in use ends the start with a sentence`(program: Program) throws {
    let installation = try Installation()
    let first = try installation.start(program)
    let second = try installation.launch(program, port: first.port)
    #expect(second.process.wait(within: .seconds(30)) == .exited(ExitCode.unavailable.rawValue))
    let sentence = "\(program.rawValue): address 127.0.0.1:\(first.port) is already in use"
    #expect(first.words.split(separator: "\n").filter { !$0.contains(" info ") } == [sentence[...]])
    #expect(first.isReady)
  }

  @Test func `metrics of both programs at one address end the second start and name the setting`()
    throws
  {
    let installation = try Installation()
    let metrics = "127.0.0.1:\(Ports.free())"
    let settings = ["COFFER_METRICS_LISTEN": metrics]
    let first = try installation.launch(.sync, settings: settings)
    try first.waitUntilReady()
    let second = try installation.launch(.billing, settings: settings)
    #expect(second.process.wait(within: .seconds(30)) == .exited(ExitCode.unavailable.rawValue))
    let sentence = "coffer-billing: address \(metrics) is already in use: COFFER_METRICS_LISTEN "
    #expect(second.words.contains(sentence + "must differ"), "\(second.words)")
    #expect(first.isReady)
  }

  @Test(arguments: [Program.sync, .billing])
  func `an unknown setting ends the start and is named`(program: Program) throws {
    let installation = try Installation()
    let server = try installation.launch(program, settings: ["COFFER_SYNC_LISTENS": "secret"])
    #expect(server.process.wait(within: .seconds(30)) == .exited(ExitCode.configuration.rawValue))
    #expect(server.words.split(separator: "\n").count == 1)
    #expect(server.words.contains("COFFER_SYNC_LISTENS"))
    #expect(!server.words.contains("secret"))
  }

  @Test func `a directory that is not the one of Actual's web app is refused and named`() throws {
    let installation = try Installation(
      settings: ["COFFER_ACTUAL_AUTHORITIES": "budget.coffer.test"])
    let path = installation.directory + "/build"
    for reason in ["cannot be read: No such file or directory", "has no index.html"] {
      let server = try installation.launch(.sync, settings: ["COFFER_ACTUAL_FILES": path])
      #expect(
        server.process.wait(within: .seconds(30)) == .exited(ExitCode.configuration.rawValue))
      #expect(server.words.contains("COFFER_ACTUAL_FILES: \"\(path)\" \(reason)"))
      try Files.write("default-db.sqlite", to: path + "/data-file-index.txt")
    }
  }

  @Test(arguments: [Program.sync, .billing])
  func `virtual time is refused in production`(program: Program) throws {
    let installation = try Installation(startingAt: Instant(seconds: 1_767_225_600))
    let server = try installation.launch(program, settings: ["COFFER_MODE": "production"])
    #expect(server.process.wait(within: .seconds(30)) == .exited(ExitCode.configuration.rawValue))
    #expect(server.words.contains("COFFER_TEST_CLOCK"))
  }
}
