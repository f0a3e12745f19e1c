/// A function for zsh's `compdef`, which can be sourced or found in fpath as `_coffer`.
enum ZshCompletion {
  package static func script(_ table: CompletionTable) -> String {
    """
    #compdef coffer
    # Completes coffer in zsh. Made by: coffer completion zsh
    _coffer() {
      local given="" option="" word
      local -a offers
      # The words before the cursor without options, and the option whose value is due.
      for word in "${(@)words[2,CURRENT-1]}"; do
        if [[ -n $option ]]; then
          option=""
          continue
        fi
        case $word in
          (\(table.valued.joined(separator: "|"))) option=$word ;;
          (-*) ;;
          (*) given+="$word " ;;
        esac
      done
      if [[ -n $option ]]; then
        case $option in
    \(table.values.map { "      (\($0.options.joined(separator: "|"))) \(reply($0.completion)) ;;" }
      .joined(separator: "\n"))
        esac
        return
      fi
      case $given in
    \(arguments(table).joined(separator: "\n"))
      esac
      case $given in
    \(table.places.map(offers).joined(separator: "\n"))
      esac
      _describe coffer offers
    }
    if [[ $funcstack[1] == _coffer ]]; then _coffer "$@"; else compdef _coffer coffer; fi

    """
  }

  private static func arguments(_ table: CompletionTable) -> [String] {
    table.places.compactMap { place in
      place.argument == .nothing
        ? nil : "    (\(pattern(place.words))) \(reply(place.argument)) ;;"
    }
  }

  private static func offers(_ place: CompletionTable.Place) -> String {
    let rows = place.offers.map { offer in "      \(quoted("\(offer.word):\(offer.text)"))" }
    return "    (\(pattern(place.words))\(place.isCommand ? "*" : "")) offers=(\n"
      + rows.joined(separator: "\n") + "\n    ) ;;"
  }

  /// Each word with a space after it.
  private static func pattern(_ words: [String]) -> String {
    "\"" + words.map { $0 + " " }.joined() + "\""
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("'", with: "'\\''") + "'"
  }

  private static func reply(_ completion: Completion) -> String {
    switch completion {
    case .nothing: ":"
    case .file: "_files"
    case .words(let words): "compadd -- \(words.joined(separator: " "))"
    }
  }
}
