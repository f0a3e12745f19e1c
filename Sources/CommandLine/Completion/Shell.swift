/// The shells with completion.
package enum Shell: String, CaseIterable {
  case bash, zsh, fish

  package func script(_ table: CompletionTable) -> String {
    switch self {
    case .bash: BashCompletion.script(table)
    case .zsh: ZshCompletion.script(table)
    case .fish: FishCompletion.script(table)
    }
  }
}
