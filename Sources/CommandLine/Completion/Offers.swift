/// The words that a shell can offer at the cursor of a command line, as `coffer __complete` prints them.
///
/// Each line holds a word, a tab and a text about it. The line `:files` stands for the names of files.
package struct Offers {
  private let commands: [Command]
  private let current: String
  /// The words before the cursor, without options and their values.
  private var given: [String] = []
  /// The option whose value is at the cursor.
  private var option: (any AnyParameter)?
  private var lines: [String] = []

  /// `words` follow the name of the program; the last one is at the cursor and may be empty.
  package static func text(_ words: [String], of commands: [Command]) -> String {
    var offers = Offers(words, of: commands)
    offers.collect()
    return offers.lines.map { $0 + "\n" }.joined()
  }

  private init(_ words: [String], of commands: [Command]) {
    self.commands = commands
    current = words.last ?? ""
    for word in words.dropLast() {
      if option != nil {
        option = nil
      } else if word.hasPrefix("-") {
        option = commands.lazy.flatMap(\.allOptions).first {
          $0.name == word && $0.valueName != nil
        }
      } else {
        given.append(word)
      }
    }
  }

  private mutating func collect() {
    if let option { return add(option.completion) }
    let command = commands.filter { given.starts(with: $0.words) }.max {
      $0.words.count < $1.words.count
    }
    if let command, command.words == given, !current.hasPrefix("-") {
      add(command.arguments.first?.completion ?? .nothing)
    }
    addNextWords()
    let options = given.isEmpty ? CommonOptions.leading : CommonOptions.all
    for option in command?.allOptions ?? options { add(option.name, option.help) }
  }

  /// The words that may follow in the name of a command.
  private mutating func addNextWords() {
    var known: Set<String> = []
    for command in commands where command.words.count > given.count {
      let next = command.words[given.count]
      guard command.words.starts(with: given), known.insert(next).inserted else { continue }
      let whole = commands.first { $0.words == given + [next] }
      add(next, whole?.abstract ?? "Commands of \(next)")
    }
  }

  private mutating func add(_ completion: Completion) {
    switch completion {
    case .nothing: break
    case .file: lines.append(":files")
    case .words(let words): for word in words { add(word, "") }
    }
  }

  private mutating func add(_ word: String, _ text: String) {
    if word.hasPrefix(current) { lines.append("\(word)\t\(text)") }
  }
}
