package import Configuration

/// A manual page for `man`, made from the programs' own descriptions (man(7)).
package struct ManualPage {
  private let table: CommandTable
  private var text: String

  /// The page of one of the three programs: section 1 for the command, 8 for the servers. The table
  /// has the commands of the one, and the settings of all.
  package static func of(_ program: Program, _ table: CommandTable) -> String {
    switch program {
    case .command: command(table)
    case .sync, .billing: server(program, table)
    }
  }

  private init(_ program: Program, _ table: CommandTable, synopsis: String) {
    self.table = table
    let section = program == .command ? 1 : 8
    text = ".TH \(program.rawValue.uppercased()) \(section) \"\" \"coffer \(Version.text)\"\n"
    heading("NAME")
    line("\(program.rawValue) - \(program.abstract)")
    heading("SYNOPSIS")
    text += ".B \(Self.escaped(program.rawValue))\n"
    line(synopsis)
  }

  private static func command(_ table: CommandTable) -> String {
    var page = ManualPage(.command, table, synopsis: "<command> [<arguments>] [<options>]")
    page.heading("COMMANDS")
    for command in table.all {
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

  private static func server(_ program: Program, _ table: CommandTable) -> String {
    var page = ManualPage(program, table, synopsis: "[--config <path>]")
    page.heading("DESCRIPTION")
    page.line("SIGTERM and SIGINT end the program once open requests are answered.")
    page.ending(program)
    return page.text
  }

  /// Adds the end that all pages have.
  private mutating func ending(_ program: Program) {
    heading("ENVIRONMENT")
    for row in table.settings.rows where row.programs.contains(program) {
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
