import Configuration
import JSON
import Testing

@testable import CommandLine

/// A program of three commands, none of them Coffer's.
struct ParserTests {
  private static let name = Parameter<String>.required("name", text: "who", .text)
  private static let count = Parameter<Int>.optional(
    "--count", "number", text: { "how often (default: \($0))" }, .number(in: 1...9), otherwise: 1)

  private static let table = CommandTable(
    "greet", abstract: "Greet people.", version: "1.2", settings: SettingsTable(stores: []),
    [
      ("people", [greet("say", "hello"), greet("say", "goodbye")]), ("self", [greet("backup")]),
    ])

  private static func greet(_ words: String...) -> Command {
    Command(
      words: words, abstract: "Do it", examples: ["greet \(words.joined(separator: " ")) ada"],
      arguments: [name], options: [count], answers: .anything
    ) { invocation in
      Answer(text: "\(invocation[name]) \(invocation[count])", json: .null)
    }
  }

  /// The output of a command line: an answer, help, or the problem with the line.
  private func printed(_ line: String) throws -> String {
    let words = line.split(separator: " ").map(String.init)
    do {
      switch try CommandLineParser(Self.table).parse(words, environment: [:]) {
      case .help(let text): return text
      case .run(let command, let invocation): return try command.run(invocation).text
      }
    } catch let failure as CommandFailure {
      #expect(failure.code == .usage)
      return failure.text
    }
  }

  @Test(arguments: [
    ("say hello ada", "ada 1"), ("say hello ada --count 3", "ada 3"),
    ("--json say hello --count=3 ada", "ada 3"), ("say hello -- --count", "--count 1"),
    ("--version", "greet 1.2\n"), ("version", "greet 1.2\n"),
  ])
  func `a line that fits is done`(line: String, text: String) throws {
    #expect(try printed(line) == text)
  }

  @Test(arguments: [
    ("say hello", "say hello needs <name>; see --help"),
    ("say hello ada ben", "say hello does not take ben; see --help"),
    ("say hello ada --count 10", "--count takes a number from 1 to 9"),
    ("say hello ada --count", "--count <number> needs its value"),
    ("say hello ada --count 1 --count 2", "--count is given twice"),
    ("say hello ada --json=yes", "--json takes no value"),
    ("say", "one of hello, goodbye must follow; see --help"),
  ])
  func `a line that does not fit is told why`(line: String, text: String) throws {
    #expect(try printed(line) == text)
  }

  @Test(arguments: [
    ("sya hello ada", "did you mean say"), ("hello say", "did you mean say hello?"),
  ])
  func `a mistyped command is guessed`(line: String, text: String) throws {
    #expect(try printed(line).contains(text))
  }

  @Test(arguments: ["say hello --help", "help say hello", "say hello help", "say hello ada -h"])
  func `help of a command has its arguments, options and examples`(line: String) throws {
    let text = try printed(line)
    for part in ["<name>", "--count <number>", "(default: 1)", "greet say hello ada"] {
      #expect(text.contains(part), "\(part)")
    }
  }

  @Test func `help begins with what there is`() throws {
    for line in ["--help", "help"] {
      let text = try printed(line)
      #expect(text.hasPrefix("greet: Greet people.\n\nusage: greet <command>"))
      #expect(text.contains("people:\n  say"))
    }
    #expect(try printed("help say").contains("say goodbye"))
    #expect(try printed("help exit-codes").hasPrefix("exit codes:\n"))
  }
}
