/// `complete` commands for fish, each with the condition for it.
enum FishCompletion {
  package static func script(_ table: CompletionTable) -> String {
    """
    # Completes coffer in fish. Made by: coffer completion fish
    # The words before the cursor without options and their values.
    function __coffer_words
        set -l option
        for word in (commandline -opc)[2..-1]
            if set -q option[1]
                set -e option[1]
                continue
            end
            switch $word
                case \(table.valued.joined(separator: " "))
                    set option $word
                case '-*'
                case '*'
                    echo $word
            end
        end
    end
    # Whether exactly these words were given.
    function __coffer_at
        set -l words (__coffer_words)
        test "$words" = "$argv"
    end
    # Whether these words were given, and perhaps others behind them.
    function __coffer_in
        set -l words (__coffer_words)
        string match -q -- "$argv *" "$words "
    end
    complete -c coffer -f
    \(table.places.flatMap { place in lines(place, table) }.joined(separator: "\n"))

    """
  }

  private static func lines(
    _ place: CompletionTable.Place, _ table: CompletionTable
  ) -> [String] {
    let words = place.words.joined(separator: " ")
    let exact = "complete -c coffer -n '__coffer_at \(words)'"
    // Not after the words of a longer command, which has its own options.
    let longer = table.places.filter {
      $0.words.count > place.words.count && $0.words.starts(with: place.words)
    }
    let others = longer.map { "; and not __coffer_in \($0.words.joined(separator: " "))" }.joined()
    let condition =
      place.isCommand ? "complete -c coffer -n '__coffer_in \(words)\(others)'" : exact
    var lines = place.offers.map { offer -> String in
      let text = quoted(offer.text)
      guard offer.word.hasPrefix("--") else { return "\(exact) -a \(offer.word) -d \(text)" }
      let value = value(of: offer.word, table)
      return "\(condition) -l \(offer.word.dropFirst(2))\(value) -d \(text)"
    }
    switch place.argument {
    case .nothing: break
    case .file: lines.append("\(exact) -F")
    case .words(let words): lines.append("\(exact) -a \(quoted(words.joined(separator: " ")))")
    }
    return lines
  }

  /// What fish must know about an option's value.
  private static func value(of option: String, _ table: CompletionTable) -> String {
    guard table.valued.contains(option) else { return "" }
    switch table.values.first(where: { $0.options.contains(option) })?.completion {
    case .file: return " -r -F"
    case .words(let words): return " -x -a \(quoted(words.joined(separator: " ")))"
    case .nothing, nil: return " -x"
    }
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
