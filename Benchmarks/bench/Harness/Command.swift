import Glibc
import TestFiles

/// Starts other programs, found through PATH.
enum Command {
  /// Starts a program whose output goes to the file `output`. It inherits only the environment, without the
  /// settings of Coffer.
  static func spawn(
    _ arguments: [String], environment: [String: String] = [:], output: String
  ) throws(BenchError) -> pid_t {
    var variables = inherited()
    variables.merge(environment) { $1 }
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(
      &actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
    var process = pid_t()
    let code = unsafe withCStrings(arguments) { arguments in
      unsafe withCStrings(variables.map { "\($0)=\($1)" }) { variables in
        unsafe posix_spawnp(&process, arguments[0]!, &actions, nil, arguments, variables)
      }
    }
    guard code == 0 else { throw .system("start \(arguments[0])", errno: code) }
    return process
  }

  /// The output of a program, which must succeed. `scratch` is a file that is overwritten.
  static func output(
    _ arguments: [String], environment: [String: String] = [:], scratch: String
  ) throws(BenchError) -> String {
    let process = try spawn(arguments, environment: environment, output: scratch)
    var status: Int32 = 0
    guard unsafe waitpid(process, &status, 0) == process else {
      throw .system("wait for \(arguments[0])", errno: errno)
    }
    let text = Files.text(scratch) ?? ""
    guard status == 0 else {
      throw .command("`\(arguments.joined(separator: " "))` failed:\n\(text)")
    }
    return text
  }

  private static func inherited() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
      let parts = unsafe String(cString: text).split(separator: "=", maxSplits: 1)
      if parts.count == 2, !parts[0].hasPrefix("COFFER_") {
        variables[String(parts[0])] = String(parts[1])
      }
      unsafe entry += 1
    }
    return variables
  }

  private static func withCStrings<Result>(
    _ texts: [String],
    _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    var pointers = unsafe texts.map { unsafe strdup($0) } + [nil]
    defer { unsafe pointers.forEach { unsafe free($0) } }
    return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
  }
}
