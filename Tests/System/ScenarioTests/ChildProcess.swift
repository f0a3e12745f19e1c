import Base
import Glibc
import TestFiles

/// One of Coffer's programs in a process of its own, which ends at the latest when the test releases this
/// value.
final class ChildProcess: Sendable {
  let id: pid_t
  private let end = Locked<End?>(nil)

  enum End: Equatable {
    case exited(Int32)
    case killed(by: Int32)
  }

  /// Its output goes to the files `output` and `errors`. It inherits no other file.
  init(
    _ executable: String, _ arguments: [String] = [], environment: [String: String],
    output: String, errors: String
  ) throws {
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    let create = O_WRONLY | O_CREAT | O_APPEND
    unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
    unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, create, 0o600)
    unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, create, 0o600)
    // An inherited socket of another test would stay open as long as this process runs.
    for descriptor in STDERR_FILENO + 1..<1024 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    let words = CStrings([executable] + arguments)
    let environment = environment.merging(Sanitizers.environment) { own, _ in own }
    let variables = CStrings(environment.map { "\($0.key)=\($0.value)" })
    var id = pid_t()
    let code = unsafe posix_spawn(
      &id, executable, &actions, nil, words.pointers, variables.pointers)
    guard code == 0 else { throw ScenarioError("\(executable) cannot be started: error \(code)") }
    self.id = id
  }

  deinit {
    send(SIGKILL)
    wait(within: .seconds(30))
  }

  func send(_ signal: Int32) {
    // Under the lock, so that the id does not belong to another process yet.
    end.withLock { end in if end == nil { kill(id, signal) } }
  }

  /// Waits for the process. Returns how it ended; nil if it is still running after `span`.
  @discardableResult
  func wait(within span: Instant.Span) -> End? {
    let deadline = MonotonicTime.now() + span
    while true {
      if let end = end.withLock({ $0 ?? reap(&$0) }) { return end }
      guard MonotonicTime.now() < deadline else { return nil }
      usleep(2000)
    }
  }

  private func reap(_ end: inout End?) -> End? {
    var status: Int32 = 0
    guard unsafe waitpid(id, &status, WNOHANG) == id else { return nil }
    let signal = status & 0x7F
    end = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: signal)
    return end
  }
}

/// A list of C strings with a nil at the end, as `posix_spawn` needs it.
@safe
private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ texts: [String]) {
    count = texts.count
    unsafe pointers = .allocate(capacity: count + 1)
    for (index, text) in texts.enumerated() { unsafe pointers[index] = unsafe strdup(text) }
    unsafe pointers[count] = nil
  }

  deinit {
    for index in 0..<count { unsafe free(pointers[index]) }
    unsafe pointers.deallocate()
  }
}

/// A sentence that says why a scenario cannot continue.
struct ScenarioError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
