/// The commands of a program, in the order help lists them.
struct CommandTable: Sendable {
  /// By what an operator is doing.
  let groups: [(title: String, commands: [Command])]
  let all: [Command]

  init(_ groups: [(title: String, commands: [Command])]) {
    self.groups = groups
    all = groups.flatMap(\.commands)
  }

  /// The commands whose words begin with `words`.
  func group(_ words: some Collection<String>) -> [Command] {
    all.filter { $0.words.starts(with: words) }
  }
}
