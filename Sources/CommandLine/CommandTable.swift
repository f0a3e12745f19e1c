package import Configuration

/// The commands of a program, in the order in which help lists them.
package struct CommandTable: Sendable {
  /// The program's name, and what it does in one line.
  package let name: String
  package let abstract: String
  package let version: String
  /// The table that the settings are read by.
  package let settings: SettingsTable
  /// The commands, grouped by an operator's tasks.
  package let groups: [(title: String, commands: [Command])]
  package let all: [Command]

  package init(
    _ name: String, abstract: String, version: String, settings: SettingsTable,
    _ groups: [(title: String, commands: [Command])]
  ) {
    self.name = name
    self.abstract = abstract
    self.version = version
    self.settings = settings
    self.groups = groups
    all = groups.flatMap(\.commands)
  }

  /// The commands whose words begin with `words`.
  package func group(_ words: some Collection<String>) -> [Command] {
    all.filter { $0.words.starts(with: words) }
  }
}
