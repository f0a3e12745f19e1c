import Accounts
package import Base
package import CommandLine
import Configuration
import Glibc
import JSON
package import Storage

/// The account that an operator named, or all accounts by id, in pages. Progress names the current account, so that
/// an interrupted run can continue after it.
package struct AccountWalk {
  package static let after = Parameter<Identifier?>.optional(
    "--after", "account", text: "with --all, continue after this account id", .uuid)

  package static let account = Parameter<String?>.optional(
    "account", text: "its id or its username; or give --all", .text)
  package static let all = Parameter<Bool>.flag("--all", text: "every account")

  /// Nil for `--all`.
  private let named: String?
  private let start: Identifier?

  /// Takes the named account, or `--all`. Refuses both and neither, and `--after` with a name.
  ///
  /// With `--all` it holds signals, so that they end the walk between two accounts.
  package init(_ invocation: Invocation) throws(CommandFailure) {
    (named, start) = (invocation[Self.account], invocation[Self.after])
    guard (named == nil) == invocation[Self.all] else {
      throw CommandFailure(.usage, "give one of <account> and --all")
    }
    guard named == nil || start == nil else { throw CommandFailure(.usage, "--after is for --all") }
    if named == nil { Interruption.hold() }
  }

  /// Runs `one` for the named account, or `each` for every account; `title` says what is done to all. Returns what
  /// ended it before the last account: a signal, or an error of `each`, so that what was found before is not lost.
  package func run(
    _ title: String, in database: Database,
    one: (Identifier) throws -> Void, each: (Identifier, Progress) throws -> Void
  ) throws -> Interrupted? {
    if let named {
      try one(database.read { try DatabaseSession.account($0, named).id })
      return nil
    }
    var failed: Interrupted?
    do {
      return try Self.each(title, of: database, after: start) { account, progress in
        do { try each(account, progress) } catch {
          failed = Interrupted(at: account, by: .failure(CommandFailure(of: error)))
          throw error
        }
      }
    } catch {
      guard let failed else { throw error }
      return failed
    }
  }

  private static let pageCount = 1000

  /// The end of a walk before the last account.
  package struct Interrupted: Sendable {
    fileprivate enum Cause {
      /// SIGINT or SIGTERM, between two accounts.
      case signal(Int32)
      case failure(CommandFailure)
    }

    /// The last account that was done, or that failed.
    package let last: Identifier
    fileprivate let cause: Cause

    fileprivate init(at last: Identifier, by cause: Cause) {
      (self.last, self.cause) = (last, cause)
    }

    package static let shape = JSONShape.Member("go_on_after", .text, isOptional: true)
  }

  /// Runs `body` for each account; `title` says what is done, and `start` is nil for all. Returns
  /// how it was interrupted, if signals are held; nil if it reached the end.
  @discardableResult
  package static func each(
    _ title: String, of database: Database, after start: Identifier? = nil,
    _ body: (Identifier, Progress) throws -> Void
  ) throws -> Interrupted? {
    var last = start ?? Identifier(high: 0, low: 0)
    let progress = Progress(
      title, .count(of: "accounts"),
      of: try database.read { [last] in try Account.count($0, after: last) })
    while true {
      let page = try page(behind: last, limit: pageCount, of: database)
      for account in page {
        if let signal = Interruption.taken() { return Interrupted(at: last, by: .signal(signal)) }
        progress.place = account.description
        try body(account, progress)
        progress.done += 1
        last = account
      }
      guard page.count == pageCount else { return nil }
    }
  }

  package static func page(
    behind account: Identifier, limit: Int, of database: Database
  ) throws -> [Identifier] {
    try database.read { reader in
      try reader.rows(
        "SELECT id FROM sync.accounts WHERE id > $1 ORDER BY id LIMIT $2",
        .id(account), .integer(limit)
      ) { row in try row.id(0) }
    }
  }
}

extension Answer {
  /// The answer of a walk, with where to continue if it ended before the last account.
  package func ended(by end: AccountWalk.Interrupted?) -> Answer {
    guard let end else { return self }
    var answer = adding([.init(AccountWalk.Interrupted.shape.name, .string(end.last.description))])
    switch end.cause {
    case .signal(let signal):
      // Ends the way the signal's sender expects.
      answer.whenWritten = {
        StandardError.write("coffer: interrupted; continue with --after \(end.last)")
        kill(getpid(), signal)
      }
    case .failure(let failure):
      answer.code = failure.code
      answer.notice =
        "stopped at account \(end.last): \(failure.text); --after \(end.last) continues behind it"
    }
    return answer
  }
}
