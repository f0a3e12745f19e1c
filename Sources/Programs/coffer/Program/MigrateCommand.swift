import Acts
import CommandLine
import Configuration
import JSON
import Storage

extension Command {
  static let migrate = Command(
    words: ["migrate"],
    abstract: "Migrate the database to this version's schema",
    discussion: """
      Both servers do the same when they start, under the same lock. Run this command to see the migration \
      succeed first. A database of a newer version is refused.
      """,
    examples: ["coffer migrate"],
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
