internal import Base
internal import CommandLine
internal import Configuration
internal import Glibc

/// PostgreSQL's own programs, which dump its databases and load them.
enum PostgresTools {
  /// Dumps both schemas in one snapshot, to a file that pg_restore reads.
  static let dump = """
    exec pg_dump --format=custom --schema=sync --schema=billing --file="$COFFER_DUMP" \\
    --dbname="$COFFER_DUMP_OF"
    """

  /// Loads all or nothing, into a database that has neither schema.
  static let load = """
    exec pg_restore --single-transaction --exit-on-error --no-owner --no-privileges \\
    --dbname="$COFFER_DUMP_INTO" "$COFFER_DUMP"
    """

  /// Refuses a file that is not a dump of both schemas and their rows.
  static let list = """
    list=$(pg_restore --list "$COFFER_DUMP") || exit
    for schema in sync billing; do
      case $list in
      *" SCHEMA - $schema "*" TABLE DATA $schema migrations "*) ;;
      *) echo "the dump has no schema $schema with its rows" >&2; exit 1 ;;
      esac
    done
    """

  /// The same, and reads the whole dump: a truncated one still has a complete list.
  static let read = """
    \(list)
    exec pg_restore --file=/dev/null "$COFFER_DUMP"
    """

  /// Checks a dump with `list` or `read`.
  static func require(_ judge: String, of dump: String) throws(CommandFailure) {
    do { try run(judge, ["COFFER_DUMP": dump]) } catch {
      throw CommandFailure(
        .refused, "\(dump) is not a complete dump of a Coffer database; see the lines above")
    }
  }

  /// Runs a shell command and waits for its end. Its output goes to stderr, because stdout is for
  /// the answer. `variables` are added to the environment.
  static func run(_ command: String, _ variables: [String: String]) throws(CommandFailure) {
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
      throw CommandFailure(.unavailable, "/bin/sh cannot be started")
    }
    var status: Int32 = 0
    while unsafe waitpid(child, &status, 0) < 0 {
      guard errno == EINTR else {
        throw CommandFailure(.unavailable, "it is unknown how \(name(of: command)) ended")
      }
    }
    guard status == 0 else {
      throw CommandFailure(.unavailable, "\(name(of: command)) failed; see the lines above")
    }
  }

  /// The program that a command begins with.
  private static func name(of command: String) -> Substring {
    let words = command.split(separator: " ")
    return (words.first == "exec" ? words.dropFirst().first : words.first) ?? "the command"
  }
}

extension Secret {
  /// For an environment that only this user sees.
  var text: String { String(decoding: exposed, as: UTF8.self) }

  /// A database's URL without its passwords, for anyone to see.
  var withoutPassword: String {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var shown = String(parts[0])
    if let scheme = shown.firstRange(of: "://"),
      let end = shown[scheme.upperBound...].lastIndex(of: "@"),
      let colon = shown[scheme.upperBound..<end].firstIndex(of: ":")
    {
      shown.removeSubrange(colon..<end)
    }
    let members = parts.dropFirst().first?.split(separator: "&") ?? []
    let kept = members.filter { !$0.hasPrefix("password=") && !$0.hasPrefix("sslpassword=") }
    return kept.isEmpty ? shown : shown + "?" + kept.joined(separator: "&")
  }
}
