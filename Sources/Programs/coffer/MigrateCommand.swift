internal import Configuration
internal import JSON
internal import Storage

extension Command {
  static let migrate = Command(
    words: ["migrate"],
    abstract: "Brings the database to the schema of this version.",
    discussion: "Both programs do the same at their start, under the same lock, so this is for "
      + "those who want to see it succeed first. A database of a newer version is refused.",
    answers: ["schemas": .list(.text), "up_to_date": .bool],
    run: { invocation in
      try DatabaseSession.withAnyCatalogue(invocation, .migrates) { _, configuration in
        let text: String
        switch configuration.database {
        case .sqlite(let directory): text = "SQLite in \(directory)"
        case .postgres: text = "PostgreSQL"
        }
        return Answer(
          text: "\(text): schemas sync and billing are up to date\n",
          json: ["schemas": ["sync", "billing"], "up_to_date": true])
      }
    })
}
