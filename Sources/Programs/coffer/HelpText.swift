internal import Configuration
internal import KnownStores

/// The text behind `--help`, made from the commands' own descriptions.
enum HelpText {
  private static let width = 80
  private static let rowWidth = 90

  static func overview() -> String {
    """
    coffer: \(Program.command.abstract)

    usage: coffer <command> [<arguments>] [<options>]
           coffer --version

    commands:
    \(rows(CommandTable.all.map { ($0.name, $0.abstract) }))
    coffer <command> --help tells more about one of them.

    options of every command:
    \(rows(CommonOptions.all.map { ($0.usage, $0.help) }))
    settings:
    \(SettingsHelp.text(.coffer, for: .command))
    exit codes:
    \(SettingsHelp.exitCodes())
    """
  }

  static func group(_ words: [String]) -> String {
    """
    usage: coffer \(words.joined(separator: " ")) <command> [<arguments>] [<options>]

    commands:
    \(rows(CommandTable.group(words).map { ($0.name, $0.abstract) }))
    """
  }

  static func command(_ command: Command) -> String {
    var text =
      command.abstract + "\n\n" + wrapped(["usage:"] + command.usage, hanging: "         ") + "\n"
    for paragraph in command.discussion.split(separator: "\n\n") {
      text += SettingsHelp.wrapped(String(paragraph), indent: "", width: width) + "\n"
    }
    if !command.arguments.isEmpty {
      text += "arguments:\n" + rows(command.arguments.map { ($0.usage, $0.help) }) + "\n"
    }
    return text + "options:\n" + rows(command.allOptions.map { ($0.usage, $0.help) })
  }

  /// Two columns, the second wrapped under itself.
  private static func rows(_ rows: [(String, String)]) -> String {
    let first = (rows.map(\.0.count).max() ?? 0) + 4
    let indent = String(repeating: " ", count: first)
    return rows.map { name, text in
      let lines = SettingsHelp.wrapped(text, indent: indent, width: rowWidth)
      return "  " + name + lines.dropFirst(2 + name.count)
    }.joined()
  }

  /// A usage line broken between its parts, which keep their own spaces.
  private static func wrapped(_ parts: [String], hanging: String) -> String {
    var text = ""
    var line = ""
    for part in parts {
      if !line.isEmpty, line.count + 1 + part.count > width {
        text += line + "\n"
        line = hanging + part
      } else {
        line += (line.isEmpty ? "" : " ") + part
      }
    }
    return text + line + "\n"
  }
}
