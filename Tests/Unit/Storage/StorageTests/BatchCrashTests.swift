import Base
import Glibc
import Storage
import TestEngines
import TestFiles
import Testing

/// The effect of `kill -9` in the middle of a batch: nothing of it remains, in its first run or in a repeat.
@Suite struct BatchCrashTests {
  /// The place at which a batch's process ends: after the statements of a member's n-th run.
  struct Death: Codable, Sendable {
    let member: Int
    let run: Int
  }

  private static let members = 1...20
  /// This member refuses after its writes, so that the batch runs again.
  private static let refusing = 12
  /// Together the bodies exceed the writer's cache, so that the log contains uncommitted pages.
  private static let byteCount = 2 << 20

  @Test(arguments: [
    Death(member: 9, run: 1), Death(member: 12, run: 1), Death(member: 9, run: 2),
    Death(member: 12, run: 2), Death(member: 20, run: 1),
  ])
  func `a batch that was killed left nothing, and the same writes succeed`(
    death: Death
  ) async throws {
    let scratch = try ScratchDatabase(.sqlite)
    let directory = scratch.directory.path + "/database"
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [directory = directory as String, death] in
      try Self.writeAndDie(in: directory, death)
    }
    // Member 20 joined the same transaction after the batch had run again.
    #expect(try Self.answers(in: directory) == (1...3).map { "before \($0)" })
    let database = try scratch.open { $0.batchTime = .seconds(60) }
    defer { database.close() }
    #expect(try database.itemIDs() == [1, 2, 3])
    #expect(try Self.isWhole(database))
    try Self.runBatch(on: database, in: directory) { _ in }
    let stored = Self.members.filter { $0 != Self.refusing }.map { $0 + 100 }
    #expect(try database.itemIDs() == [1, 2, 3] + stored)
    #expect(try Self.isWhole(database))
    let refused = try Self.answers(in: directory).filter { $0.hasPrefix("refused") }
    #expect(refused == ["refused \(Self.refusing)"])
  }

  private static func writeAndDie(in directory: String, _ death: Death) throws {
    var options = ScratchDatabase.options
    options.batchTime = .seconds(60)
    let database = try Database.open(
      .sqlite(directory: directory), owning: .sync, options: options)
    for id in 1...3 {
      try database.insertItem(id)
      note("before \(id)", in: directory)
    }
    let runCount = Locked(0)
    try runBatch(on: database, in: directory) { member in
      guard member == death.member else { return }
      let count = runCount.withLock { count in
        count += 1
        return count
      }
      if count == death.run { kill(getpid(), SIGKILL) }
    }
  }

  /// Runs all members as one batch and records which were answered. Calls `written` after each member's
  /// statements.
  private static func runBatch(
    on database: Database, in directory: String, written: @escaping @Sendable (Int) -> Void
  ) throws {
    let gate = Gate()
    let answered = Collector<Int>()
    database.submitWrite(for: nil) { _ in
      gate.pass()
    } completion: { _ in
    }
    gate.waitForArrival()
    for member in members {
      database.submitWrite(for: nil) { transaction in
        try transaction.execute(
          "INSERT INTO sync.items (id, body) VALUES ($1, $2)", .integer(member + 100),
          .blob([UInt8](repeating: UInt8(member), count: byteCount)))
        try transaction.execute(
          "INSERT INTO sync.parts (id, item) VALUES ($1, $1)", .integer(member + 100))
        written(member)
        if member == refusing { throw Refusal(reason: "no") }
      } completion: { result in
        note("\(Outcome(result) == .success ? "stored" : "refused") \(member)", in: directory)
        answered.add(member)
      }
    }
    gate.open()
    #expect(answered.wait(members.count).count == members.count)
  }

  private static func isWhole(_ database: Database) throws -> Bool {
    let answers = try database.read { reader in
      try reader.rows("SELECT integrity_check FROM pragma_integrity_check") {
        try $0.text(0)
      }
    }
    return answers == ["ok"]
  }

  /// The line survives the process, because the kernel has it when the call returns.
  private static func note(_ line: String, in directory: String) {
    let file = unsafe open("\(directory)/answers", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    defer { close(file) }
    let bytes = Array("\(line)\n".utf8)
    unsafe write(file, bytes, bytes.count)
  }

  private static func answers(in directory: String) throws -> [String] {
    try #require(Files.text("\(directory)/answers")).split(separator: "\n").map(String.init)
  }
}
