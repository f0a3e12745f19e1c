import Base
import Glibc

/// PostgreSQL's own programs, which dump its databases and load them.
enum PostgresTools {
  /// Dumps both schemas in one snapshot, to a file that pg_restore reads. A shell command can do it instead.
  static func dump(_ url: Secret, to dump: String, with command: String?) throws(BackupError) {
    let own = """
      exec pg_dump --format=custom --schema=sync --schema=billing --file="$COFFER_DUMP" \\
      --dbname="$COFFER_DUMP_OF"
      """
    try run(command ?? own, ["COFFER_DUMP": dump, "COFFER_DUMP_OF": url.text])
    try require(list, of: dump)
  }

  /// Loads all or nothing, into a database that has neither schema.
  static func load(_ dump: String, into url: Secret) throws(BackupError) {
    let command = """
      exec pg_restore --single-transaction --exit-on-error --no-owner --no-privileges \\
      --dbname="$COFFER_DUMP_INTO" "$COFFER_DUMP"
      """
    try run(command, ["COFFER_DUMP": dump, "COFFER_DUMP_INTO": url.text])
  }

  /// Reads a whole dump: a truncated one still has a complete list.
  static func read(_ dump: String) throws(BackupError) {
    try require("\(list)\nexec pg_restore --file=/dev/null \"$COFFER_DUMP\"", of: dump)
  }

  /// Refuses a file that is not a dump of both schemas and their rows.
  private static let list = """
    list=$(pg_restore --list "$COFFER_DUMP") || exit
    for schema in sync billing; do
      case $list in
      *" SCHEMA - $schema "*" TABLE DATA $schema migrations "*) ;;
      *) echo "the dump has no schema $schema with its rows" >&2; exit 1 ;;
      esac
    done
    """

  private static func require(_ judge: String, of dump: String) throws(BackupError) {
    do { try run(judge, ["COFFER_DUMP": dump]) } catch {
      throw BackupError(
        .refused, "\(dump) is not a complete dump of a Coffer database; see the lines above")
    }
  }

  /// Runs a shell command with `variables`. Its output goes to stderr; stdout is for the answer.
  private static func run(_ command: String, _ variables: [String: String]) throws(BackupError) {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
    for (name, value) in variables { unsafe setenv(name, value, 1) }
    let texts = ["/bin/sh", "-c", command]
    let words = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe words.forEach { unsafe free($0) } }
    var child = pid_t()
    guard unsafe posix_spawn(&child, "/bin/sh", &actions, nil, words, environ) == 0 else {
      throw BackupError(.unavailable, "/bin/sh cannot be started")
    }
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else {
        throw BackupError(.unavailable, "it is unknown how \(name(of: command)) ended")
      }
    }
    guard status == 0 else {
      throw BackupError(.unavailable, "\(name(of: command)) failed; see the lines above")
    }
  }

  private static func name(of command: String) -> Substring {
    let words = command.split(separator: " ")
    return (words.first == "exec" ? words.dropFirst().first : words.first) ?? "the command"
  }
}

extension Secret {
  /// For an environment that only this user sees.
  fileprivate var text: String { String(decoding: exposed, as: UTF8.self) }
}
