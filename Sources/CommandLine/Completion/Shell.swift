/// The shells with completion. Each script asks the program, `coffer __complete`, for what to offer.
package enum Shell: String, CaseIterable {
  case bash, zsh, fish

  package var script: String {
    switch self {
    case .bash:
      #"""
      # Completes coffer in bash. Made by: coffer completion bash
      _coffer() {
        local current=${COMP_WORDS[COMP_CWORD]} word line
        local -a words=()
        # Bash takes --option=value apart.
        for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
          if [[ $word != "=" ]]; then words+=("$word"); fi
        done
        if [[ $current == "=" ]]; then current=""; fi
        COMPREPLY=()
        while IFS= read -r line; do
          if [[ $line == ":files" ]]; then
            # Readline must know, so that it quotes what a name may hold.
            compopt -o filenames 2> /dev/null
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
          else
            COMPREPLY+=("${line%%$'\t'*}")
          fi
        done < <("${COMP_WORDS[0]}" __complete "${words[@]}" "$current" 2> /dev/null)
      }
      complete -F _coffer coffer

      """#
    case .zsh:
      #"""
      #compdef coffer
      # Completes coffer in zsh. Made by: coffer completion zsh
      _coffer() {
        local line
        local -a offers
        for line in "${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
          case $line in
            ("") ;;
            (":files") _files ;;
            (*) offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
          esac
        done
        _describe coffer offers
      }
      if [[ $funcstack[1] == _coffer ]]; then _coffer "$@"; else compdef _coffer coffer; fi

      """#
    case .fish:
      #"""
      # Completes coffer in fish. Made by: coffer completion fish
      function __coffer
          set -l words (commandline -opc)
          set -l current (commandline -ct)
          for line in ($words[1] __complete $words[2..-1] "$current" 2> /dev/null)
              if test "$line" = :files
                  __fish_complete_path "$current"
              else
                  echo $line
              end
          end
      end
      complete -c coffer -f -a '(__coffer)'

      """#
    }
  }
}
