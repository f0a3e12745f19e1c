import Configuration

/// The text of `--help`, made from the commands' own descriptions.
struct HelpText {
  package let table: CommandTable

  private static let width = 80
  private static let rowWidth = min(90, Terminal.width)

  /// Help that fits on a screen: each group's commands by their first words, and where to read on.
  package func overview() -> String {
    let groups = table.groups.map { group in
      "\(group.title):\n\(rows(families(group.commands)))"
    }.joined()
    return """
      \(table.name): \(table.abstract)

      usage: \(table.name) <command> [<arguments>] [<options>]

      \(groups)
      options of every command:
      \(rows(CommonOptions.all.map { ($0.usage, $0.help) }))
      \(table.name) help <command>    arguments, options and examples of a command
      \(table.name) help commands     every command in one line
      \(table.name) help settings     the settings and their defaults
      \(table.name) help exit-codes   what each exit code means

      """
  }

  /// The text of a topic that `coffer help` takes besides commands.
  package func topic(_ name: String) -> String? {
    switch name {
    case "commands": "commands:\n\(rows(table.all.map { ($0.name, $0.abstract) }))"
    case "settings": "settings:\n\(SettingsHelp.text(table.settings, for: .command))"
    case "exit-codes": "exit codes:\n\(SettingsHelp.exitCodes())"
    default: nil
    }
  }

  /// A row for each first word: what it does, or the words that can follow it.
  private func families(_ commands: [Command]) -> [(String, String)] {
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

  package func group(_ words: some Collection<String>) -> String {
    """
    usage: \(table.name) \(words.joined(separator: " ")) <command> [<arguments>] [<options>]

    commands:
    \(rows(table.group(words).map { ($0.name, $0.abstract) }))
    """
  }

  package func command(_ command: Command) -> String {
    var text =
      command.abstract + "\n\n"
      + wrapped(["usage:", table.name] + command.usage, hanging: "         ") + "\n"
    for paragraph in command.discussion.split(separator: "\n\n") {
      text += SettingsHelp.wrapped(String(paragraph), indent: "", width: Self.width) + "\n"
    }
    if !command.arguments.isEmpty {
      text += "arguments:\n" + rows(command.arguments.map { ($0.usage, $0.help) }) + "\n"
    }
    return text + "options:\n" + rows(command.allOptions.map { ($0.usage, $0.help) })
      + "\nexamples:\n" + command.examples.map { "  \($0)\n" }.joined()
  }

  /// Two columns, the second wrapped under itself.
  private func rows(_ rows: [(String, String)]) -> String {
    let first = (rows.map(\.0.count).max() ?? 0) + 4
    let indent = String(repeating: " ", count: first)
    return rows.map { name, text in
      let lines = SettingsHelp.wrapped(text, indent: indent, width: Self.rowWidth)
      return "  " + name + lines.dropFirst(2 + name.count)
    }.joined()
  }

  /// A usage line broken between its parts, which keep their own spaces.
  private func wrapped(_ parts: [String], hanging: String) -> String {
    var text = ""
    var line = ""
    for part in parts {
      if !line.isEmpty, line.count + 1 + part.count > Self.width {
        text += line + "\n"
        line = hanging + part
      } else {
        line += (line.isEmpty ? "" : " ") + part
      }
    }
    return text + line + "\n"
  }
}
