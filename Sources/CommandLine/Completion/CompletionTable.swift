/// The possible continuations of a command line, made from the table of commands for any shell.
package struct CompletionTable {
  /// A word that a shell may offer.
  struct Offer {
    let word: String
    let text: String
  }

  /// What may follow these words, including the command's options.
  package struct Place {
    /// The words without options and their values: `["account"]`.
    let words: [String]
    /// Whether `words` name a command, so that its arguments may follow them, too.
    let isCommand: Bool
    let offers: [Offer]
    /// The completion of the first argument after a command's words.
    let argument: Completion
  }

  package let places: [Place]
  /// Options that take a value, in alphabetical order.
  let valued: [String]
  /// How the values of some of them are completed.
  package let values: [(completion: Completion, options: [String])]

  package init(_ commands: [Command]) {
    var groups: [[String]] = [[]]
    for command in commands {
      for count in 1..<command.words.count {
        let group = Array(command.words.prefix(count))
        let isCommand = commands.contains { $0.words == group }
        if !isCommand, !groups.contains(group) { groups.append(group) }
      }
    }
    places =
      groups.map { Self.group($0, of: commands) }
      + commands.map { Self.command($0, of: commands) }
    var completions: [String: Completion] = [:]
    for option in commands.flatMap(\.allOptions) where option.valueName != nil {
      completions[option.name] = option.completion
    }
    valued = completions.keys.sorted()
    var values: [(completion: Completion, options: [String])] = []
    for name in valued {
      guard let completion = completions[name], completion != .nothing else { continue }
      if let index = values.firstIndex(where: { $0.completion == completion }) {
        values[index].options.append(name)
      } else {
        values.append((completion, [name]))
      }
    }
    self.values = values
  }

  private static func group(_ words: [String], of commands: [Command]) -> Place {
    Place(
      words: words, isCommand: false,
      offers: next(words, of: commands)
        + (words.isEmpty ? CommonOptions.leading : CommonOptions.all).map(offer), argument: .nothing
    )
  }

  /// The words that may follow in the name of a command.
  private static func next(_ words: [String], of commands: [Command]) -> [Offer] {
    var offers: [Offer] = []
    for command in commands where command.words.starts(with: words) {
      guard command.words.count > words.count else { continue }
      let next = command.words[words.count]
      guard !offers.contains(where: { $0.word == next }) else { continue }
      let whole = commands.first { $0.words == words + [next] }
      offers.append(Offer(word: next, text: whole?.abstract ?? "Commands of \(next)."))
    }
    return offers
  }

  private static func command(_ command: Command, of commands: [Command]) -> Place {
    Place(
      words: command.words, isCommand: true,
      offers: next(command.words, of: commands) + command.allOptions.map(offer),
      argument: command.arguments.first?.completion ?? .nothing)
  }

  private static func offer(_ option: any AnyParameter) -> Offer {
    Offer(word: option.name, text: option.help)
  }
}
