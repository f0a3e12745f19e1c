internal import Archive
internal import Backup
internal import Configuration
internal import Crypto
internal import HTTPClient
internal import HTTPMessages
internal import JSON
internal import Storage
internal import Sync
internal import Tiers

/// From a command line to an exit code.
enum Entry {
  static func run(_ words: [String]) -> ExitCode {
    let environment = Launch.environment()
    do throws(CommandFailure) {
      switch try CommandLineParser.parse(words, environment: environment) {
      case .help(let text):
        try StandardOutput.write(text)
        return .ok
      case .run(let command, let invocation):
        return run(command, invocation)
      }
    } catch {
      complain([error.text])
      return error.code
    }
  }

  private static func run(_ command: Command, _ invocation: Invocation) -> ExitCode {
    do {
      let answer = try command.run(invocation)
      assert(
        command.answers.misfit(answer.json) == nil,
        "\(command.name) answers what its schema does not tell")
      if invocation[CommonOptions.json] {
        let json = String(decoding: answer.json.encoded(), as: UTF8.self)
        try StandardOutput.write(Printable.json(json) + "\n")
      } else {
        try StandardOutput.write(answer.text)
      }
      answer.whenWritten?()
      if let notice = answer.notice { complain([notice]) }
      return answer.code
    } catch let error as ConfigurationError {
      complain(error.lines)
      return .configuration
    } catch {
      let failure = failure(of: error)
      complain([failure.text])
      return failure.code
    }
  }

  /// The one place where what went wrong below becomes a line and an exit code.
  static func failure(of error: any Error) -> CommandFailure {
    switch error {
    case let failure as CommandFailure: failure
    case let error as DatabaseError: databaseFailure(error)
    case let error as BackupError:
      switch error.kind {
      case .unavailable, .unreadable: CommandFailure(.unavailable, error.description)
      case .refused, .damaged: CommandFailure(.refused, error.description)
      }
    case let error as ArchiveError:
      CommandFailure(error.kind == .unavailable ? .unavailable : .refused, error.description)
    case ObjectStoreError.unavailable(let reason): CommandFailure(.unavailable, reason)
    case CryptoError.unknownKey:
      CommandFailure(
        .configuration,
        "what is kept sealed was sealed by none of the keys in \(BillingSettings.sealingKeys.name)")
    case let error as HTTPClientError: CommandFailure(.unavailable, error.description)
    case let refusal as Refusal:
      CommandFailure(.refused, refusal.problem(catalogue: .standard).detail)
    default: CommandFailure(.software, "an error nobody expected: \(error)")
    }
  }

  private static func databaseFailure(_ error: DatabaseError) -> CommandFailure {
    switch error {
    case .busy: CommandFailure(.unavailable, "the database is busy; try again")
    case .unavailable(let reason):
      CommandFailure(.unavailable, "the database cannot be used: \(reason)")
    case .migration, .forbidden: CommandFailure(.configuration, error.description)
    case .constraint(let text), .statement(let text):
      CommandFailure(.software, "a statement failed: \(text)")
    }
  }

  /// One line for each problem on stderr, whatever was pasted into the command.
  private static func complain(_ lines: [String]) {
    for line in lines { StandardError.write("coffer: \(Printable.text(clipped(line)))") }
  }

  private static let lineCountMax = 2000

  /// Without the middle of what is too long: what is wrong with it stands at the end.
  private static func clipped(_ line: String) -> String {
    guard line.count > lineCountMax else { return line }
    return "\(line.prefix(lineCountMax / 2))…\(line.suffix(lineCountMax / 2))"
  }
}
