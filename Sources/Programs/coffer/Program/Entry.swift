import Acts
import CommandLine
import Configuration
import JSON

enum Entry {
  static func run(_ words: [String]) -> ExitCode {
    StandardFiles.open()
    let environment = Launch.environment()
    do throws(CommandFailure) {
      // For the scripts of `coffer completion`.
      if words.first == "__complete" {
        try StandardOutput.write(Offers.text(Array(words.dropFirst()), of: CommandTable.coffer.all))
        return .ok
      }
      switch try CommandLineParser(.coffer).parse(words, environment: environment) {
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
      let failure = CommandFailure(of: error)
      complain([failure.text])
      return failure.code
    }
  }

  /// Prints one line for each problem on stderr, whatever was pasted into the command.
  private static func complain(_ lines: [String]) {
    for line in lines { StandardError.write("coffer: \(Printable.text(clipped(line)))") }
  }

  private static let lineCountMax = 2000

  /// A long line without its middle, because the problem is named at its end.
  private static func clipped(_ line: String) -> String {
    guard line.count > lineCountMax else { return line }
    return "\(line.prefix(lineCountMax / 2))…\(line.suffix(lineCountMax / 2))"
  }
}
