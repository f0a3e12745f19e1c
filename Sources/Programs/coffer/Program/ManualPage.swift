internal import CommandLine
internal import Configuration
internal import JSON
internal import KnownStores

/// A manual page for `man`, made from the programs' own descriptions (man(7)).
struct ManualPage {
  private var text: String

  /// The page of one of the three programs: section 1 for the command, 8 for the servers.
  static func of(_ program: Program) -> String {
    switch program {
    case .command: command()
    case .sync, .billing: server(program)
    }
  }

  private init(_ program: Program, synopsis: String) {
    let section = program == .command ? 1 : 8
    text = ".TH \(program.rawValue.uppercased()) \(section) \"\" \"coffer \(Version.text)\"\n"
    heading("NAME")
    line("\(program.rawValue) - \(program.abstract)")
    heading("SYNOPSIS")
    text += ".B \(Self.escaped(program.rawValue))\n"
    line(synopsis)
  }

  private static func command() -> String {
    var page = ManualPage(.command, synopsis: "<command> [<arguments>] [<options>]")
    page.heading("COMMANDS")
    for command in CommandTable.coffer.all {
      page.text += ".SS \(escaped((["coffer"] + command.usage).joined(separator: " ")))\n"
      page.line(command.abstract)
      if !command.discussion.isEmpty {
        page.text += ".PP\n"
        page.line(command.discussion)
      }
      for parameter in command.arguments + command.options {
        page.item(parameter.usage, parameter.help)
      }
      for example in command.examples { page.item("Example", example) }
    }
    page.heading("OPTIONS OF EVERY COMMAND")
    for option in CommonOptions.all { page.item(option.usage, option.help) }
    page.item("--version", "print which coffer this is")
    page.ending(.command)
    return page.text
  }

  private static func server(_ program: Program) -> String {
    var page = ManualPage(program, synopsis: "[--config <path>]")
    page.heading("DESCRIPTION")
    page.line("SIGTERM and SIGINT end the program once open requests are answered.")
    page.ending(program)
    return page.text
  }

  /// Adds the end that all pages have.
  private mutating func ending(_ program: Program) {
    heading("ENVIRONMENT")
    for row in SettingsTable.coffer.rows where row.programs.contains(program) {
      item(row.name, "\(row.text) Default: \(row.absence.text).")
    }
    heading("EXIT STATUS")
    for code in ExitCode.allCases { item(String(code.rawValue), code.meaning) }
    heading("SEE ALSO")
    let others = Program.allCases.filter { $0 != program }.map {
      "\($0.rawValue)(\($0 == .command ? 1 : 8))"
    }
    line(others.joined(separator: ", "))
  }

  private mutating func heading(_ title: String) { text += ".SH \(title)\n" }

  private mutating func item(_ term: String, _ meaning: String) {
    text += ".TP\n.B \(Self.escaped(term))\n"
    line(meaning)
  }

  private mutating func line(_ sentence: String) { text += Self.escaped(sentence) + "\n" }

  /// The text in a form that roff prints unchanged: no escapes, no request at the start of a line.
  private static func escaped(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
    return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
  }
}

extension Command {
  private static let program = Parameter<Program?>.optional(
    "program", text: "one of \(names) (default: coffer)", .program)
  private static let names = Program.allCases.map(\.rawValue).joined(separator: ", ")

  static let manual = Command(
    words: ["man"],
    abstract: "Print the manual page of a program",
    discussion: "Install the pages of coffer-sync and coffer-billing in man8.",
    examples: [
      "coffer man | man -l -",
      "coffer man > /usr/local/share/man/man1/coffer.1",
    ],
    arguments: [program],
    answers: ["program": .text, "page": .text],
    run: { invocation in
      let program = invocation[program] ?? .command
      let page = ManualPage.of(program)
      return Answer(
        text: page, json: ["program": .string(program.rawValue), "page": .string(page)])
    })
}

extension Form where Value == Program {
  fileprivate static var program: Form {
    Form(completion: .words(Program.allCases.map(\.rawValue))) {
      (text, _) throws(CommandFailure) in
      if let program = Program(rawValue: text) { return program }
      throw CommandFailure(.usage, "there is no program \(text)")
    }
  }
}
