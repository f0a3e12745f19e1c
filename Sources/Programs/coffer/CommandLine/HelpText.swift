internal import Configuration
internal import KnownStores

/// The text behind `--help`, made from the commands' own descriptions.
enum HelpText {
  private static let width = 80
  private static let rowWidth = min(90, Terminal.width)

  /// What fits a screen: the commands of each group by their first words, and where to read on.
  static func overview() -> String {
    let groups = CommandTable.coffer.groups.map { group in
      "\(group.title):\n\(rows(families(group.commands)))"
    }.joined()
    return """
      coffer: \(Program.command.abstract)

      usage: coffer <command> [<arguments>] [<options>]

      \(groups)
      options of every command:
      \(rows(CommonOptions.all.map { ($0.usage, $0.help) }))
      coffer help <command>    arguments, options and examples of a command
      coffer help commands     every command in one line
      coffer help settings     the settings and their defaults
      coffer help exit-codes   what each exit code means

      """
  }

  /// What `coffer help` takes beside commands.
  static let topics: [String: @Sendable () -> String] = [
    "commands": { "commands:\n\(rows(CommandTable.coffer.all.map { ($0.name, $0.abstract) }))" },
    "settings": { "settings:\n\(SettingsHelp.text(.coffer, for: .command))" },
    "exit-codes": { "exit codes:\n\(SettingsHelp.exitCodes())" },
  ]

  /// A row for each first word: what it does, or the words that follow it.
  private static func families(_ commands: [Command]) -> [(String, String)] {
    var words: [String] = []
    for command in commands where !words.contains(command.words[0]) {
      words.append(command.words[0])
    }
    return words.map { word in
      let family = commands.filter { $0.words[0] == word }
      let next = family.compactMap { $0.words.dropFirst().first }.joined(separator: ", ")
      guard let alone = family.first(where: { $0.words.count == 1 }) else { return (word, next) }
      return (word, next.isEmpty ? alone.abstract : "\(alone.abstract); also: \(next)")
    }
  }

  static func group(_ words: some Collection<String>) -> String {
    """
    usage: coffer \(words.joined(separator: " ")) <command> [<arguments>] [<options>]

    commands:
    \(rows(CommandTable.coffer.group(words).map { ($0.name, $0.abstract) }))
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
      + "\nexamples:\n" + command.examples.map { "  \($0)\n" }.joined()
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
