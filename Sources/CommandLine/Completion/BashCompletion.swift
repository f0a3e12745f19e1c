/// A function for bash's `complete -F`.
enum BashCompletion {
  package static func script(_ table: CompletionTable) -> String {
    """
    # Completes coffer in bash. Made by: coffer completion bash
    _coffer() {
      local current=${COMP_WORDS[COMP_CWORD]} words="" option="" offers="" word index
      # Bash takes --option=value apart.
      if [[ $current == "=" ]]; then current=""; fi
      # The words before the cursor without options, and the option whose value is due.
      for ((index = 1; index < COMP_CWORD; index++)); do
        word=${COMP_WORDS[index]}
        if [[ $word == "=" ]]; then continue; fi
        if [[ -n $option ]]; then
          option=""
          continue
        fi
        case $word in
          \(table.valued.joined(separator: " | "))) option=$word ;;
          -*) ;;
          *) words+="$word " ;;
        esac
      done
      COMPREPLY=()
      if [[ -n $option ]]; then
        case $option in
    \(table.values.map { "      \($0.options.joined(separator: " | "))) \(reply($0.completion)) ;;" }
      .joined(separator: "\n"))
        esac
        return
      fi
      if [[ $current != -* ]]; then
        case $words in
    \(arguments(table).joined(separator: "\n"))
        esac
      fi
      case $words in
    \(table.places.map(offers).joined(separator: "\n"))
      esac
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$offers" -- "$current")
    }
    complete -F _coffer coffer

    """
  }

  private static func arguments(_ table: CompletionTable) -> [String] {
    table.places.compactMap { place in
      place.argument == .nothing
        ? nil : "      \(pattern(place.words))) \(reply(place.argument)) ;;"
    }
  }

  private static func offers(_ place: CompletionTable.Place) -> String {
    let words = place.offers.map(\.word).joined(separator: " ")
    return "    \(pattern(place.words))\(place.isCommand ? "*" : "")) offers=\"\(words)\" ;;"
  }

  /// Each word with a space after it.
  private static func pattern(_ words: [String]) -> String {
    "\"" + words.map { $0 + " " }.joined() + "\""
  }

  private static func reply(_ completion: Completion) -> String {
    switch completion {
    case .nothing: ":"
    // Readline must know, so that it quotes what a name may hold.
    case .file:
      "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
    case .words(let words):
      "mapfile -t COMPREPLY < <(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\")"
    }
  }
}
