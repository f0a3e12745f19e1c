import Configuration

/// The request of a command line.
package enum CommandRequest {
  case run(Command, Invocation)
  case help(String)
}

/// Parses a command line by the table of commands.
package struct CommandLineParser {
  private let table: CommandTable

  package init(_ table: CommandTable) { self.table = table }

  private var help: HelpText { HelpText(table: table) }

  /// Throws a `CommandFailure` with code 64 and one line that names the error.
  package func parse(
    _ words: [String], environment: [String: String]
  ) throws(CommandFailure) -> CommandRequest {
    var texts: [String: [String]] = [:]
    let words = try leading(words, &texts)
    if texts[CommonOptions.version.name] != nil { return .help("\(table.name) \(table.version)\n") }
    let named = Array(words.prefix { !$0.hasPrefix("-") })
    guard let command = command(of: named) else {
      return try group(words, named, asksForHelp: texts[CommonOptions.help.name] != nil)
    }
    var rest = words.dropFirst(command.words.count)
    var values: [String] = []
    var areOptionsOver = false
    while let word = rest.popFirst() {
      if word == "--", !areOptionsOver {
        areOptionsOver = true
      } else if word.hasPrefix("-"), word != "-", !areOptionsOver {
        try option(word, of: command.name, command.allOptions, &rest, &texts)
      } else {
        values.append(word)
      }
    }
    if texts[CommonOptions.help.name] != nil || values == ["help"] && !areOptionsOver {
      return .help(help.command(command))
    }
    try refuseMistyped(values.first, behind: command)
    texts.merge(try bind(values, to: command)) { $1 }
    return .run(
      command,
      try Invocation(of: command, texts, settings: table.settings, environment: environment))
  }

  /// Refuses a word that nearly names another command as an argument of this one. So `backup verfy`
  /// writes no backup into a directory of that name.
  private func refuseMistyped(_ value: String?, behind command: Command) throws(CommandFailure) {
    guard let value else { return }
    let longer = table.group(command.words).filter {
      $0.words.count > command.words.count
    }
    let next = Suggestion.nearest(to: value, among: longer.map { $0.words[command.words.count] })
    guard let next else { return }
    let isPath = command.arguments.first?.completion == .file
    throw CommandFailure(
      .usage,
      "\(command.name) does not take \(value); did you mean \(command.name) \(next)?"
        + (isPath ? " A path of that name is ./\(value)" : ""))
  }

  /// Takes the options before a command's words; returns the rest.
  private func leading(
    _ words: [String], _ texts: inout [String: [String]]
  ) throws(CommandFailure) -> [String] {
    var rest = words[...]
    while let word = rest.first, word.hasPrefix("-") {
      rest.removeFirst()
      try option(word, of: table.name, CommonOptions.leading, &rest, &texts)
    }
    return Array(rest)
  }

  /// The command that the line names; the rest of `words` are its arguments.
  private func command(of words: [String]) -> Command? {
    table.all.first { words.starts(with: $0.words) }
  }

  /// Handles a line that names no whole command: returns help, or throws what is wrong with the words.
  private func group(
    _ words: [String], _ named: [String], asksForHelp: Bool
  ) throws(CommandFailure) -> CommandRequest {
    if named.first == "help" { return .help(try topic(Array(named.dropFirst()))) }
    if named == ["version"] { return .help("\(table.name) \(table.version)\n") }
    if named.last == "help", !table.group(named.dropLast()).isEmpty {
      return .help(help.group(named.dropLast()))
    }
    let group = table.group(named)
    guard !group.isEmpty else {
      throw CommandFailure(
        .usage, "there is no command \(named.joined(separator: " "))\(meant(by: named))")
    }
    if asksForHelp || words.contains("--help") || words.contains("-h") {
      return .help(named.isEmpty ? help.overview() : help.group(named))
    }
    if let word = words.dropFirst(named.count).first {
      throw CommandFailure(.usage, "\(word) stands where a command is expected; see --help")
    }
    var next: [String] = []
    for command in group where !next.contains(command.words[named.count]) {
      next.append(command.words[named.count])
    }
    throw CommandFailure(.usage, "one of \(next.joined(separator: ", ")) must follow; see --help")
  }

  /// Help on a topic, a command or a group of them.
  private func topic(_ words: [String]) throws(CommandFailure) -> String {
    if words.isEmpty { return help.overview() }
    if words.count == 1, let text = help.topic(words[0]) { return text }
    if let command = table.all.first(where: { $0.words == words }) {
      return help.command(command)
    }
    guard !table.group(words).isEmpty else {
      throw CommandFailure(
        .usage, "there is no command \(words.joined(separator: " "))\(meant(by: words))")
    }
    return help.group(words)
  }

  /// What to suggest for words that begin no command. Arguments may follow the mistyped words.
  private func meant(by named: [String]) -> String {
    let groups = table.all.map { $0.words[0] }
    let names = table.all.map(\.name) + groups + [CommonOptions.version.name]
    for count in [2, 1] where named.count >= count {
      let words = named.prefix(count)
      for order in [Array(words), words.reversed()] {
        let found = Suggestion.nearest(to: order.joined(separator: " "), among: names)
        if let found { return "; did you mean \(found)?" }
      }
    }
    return "; see --help"
  }

  private func option(
    _ word: String, of command: String, _ known: [any AnyParameter],
    _ rest: inout ArraySlice<String>, _ texts: inout [String: [String]]
  ) throws(CommandFailure) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = CommonOptions.short[String(parts[0])]?.name ?? String(parts[0])
    guard let option = known.first(where: { $0.name == name }) else {
      throw CommandFailure(
        .usage,
        "\(command) has no option \(name)"
          + Suggestion.text(for: name, among: known.map(\.name), otherwise: "; see --help"))
    }
    guard texts[name] == nil || option.isRepeatable else {
      throw CommandFailure(.usage, "\(name) is given twice")
    }
    guard option.valueName != nil else {
      guard parts.count == 1 else { throw CommandFailure(.usage, "\(name) takes no value") }
      texts[name] = [""]
      return
    }
    guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst(), !value.isEmpty else {
      throw CommandFailure(.usage, "\(option.usage) needs its value")
    }
    texts[name, default: []].append(value)
  }

  private func bind(
    _ values: [String], to command: Command
  ) throws(CommandFailure) -> [String: [String]] {
    let required = command.arguments.filter(\.isRequired)
    guard values.count >= required.count else {
      let missing = command.arguments[values.count].usage
      throw CommandFailure(.usage, "\(command.name) needs \(missing); see --help")
    }
    guard values.count <= command.arguments.count else {
      throw CommandFailure(
        .usage, "\(command.name) does not take \(values[command.arguments.count]); see --help")
    }
    return Dictionary(uniqueKeysWithValues: zip(command.arguments.map(\.name), values.map { [$0] }))
  }
}
