import Base
import Glibc
import TestFiles

/// A new directory on a real disk, removed with its owner.
final class Workspace {
  let path: String
  private let binaries: String

  init(under parent: String) throws(BenchError) {
    guard let program = Self.programPath(), let slash = program.lastIndex(of: "/") else {
      throw .system("find this program", errno: errno)
    }
    binaries = String(program[..<slash])
    unsafe mkdir(parent, 0o755)
    guard let root = unsafe realpath(parent, nil) else {
      throw .system("open the directory \(parent)", errno: errno)
    }
    defer { unsafe free(root) }
    var template = Array("\(unsafe String(cString: root))/run.XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw .system("make a directory in \(parent)", errno: errno)
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard try !output("stat", "--file-system", "--format=%T", path).hasPrefix("tmpfs") else {
      throw .usage("\(parent) is in memory (tmpfs): name a --directory on a disk")
    }
  }

  deinit {
    let removal = try? Command.spawn(["rm", "-rf", path], output: "/dev/null")
    if let removal { waitpid(removal, nil, 0) }
  }

  func file(_ name: String) -> String { path + "/" + name }

  /// Writes a file for its owner alone, and returns its path.
  func write(_ bytes: [UInt8], _ name: String) throws(BenchError) -> String {
    let path = file(name)
    do throws(FileError) { try Files.write(bytes, to: path, isSecret: true) } catch {
      throw .command("\(error)")
    }
    return path
  }

  func directory(_ name: String) throws(BenchError) -> String {
    let directory = file(name)
    guard unsafe mkdir(directory, 0o700) == 0 else {
      throw .system("make \(directory)", errno: errno)
    }
    return directory
  }

  /// A program of the same build as this one.
  func program(_ name: String) -> String { binaries + "/" + name }

  func output(_ arguments: String...) throws(BenchError) -> String {
    try Command.output(arguments, scratch: file("output"))
  }

  /// The number of rows in a table of an SQLite database.
  func rowCount(_ database: String, _ table: String) throws(BenchError) -> Int {
    try number(database, "SELECT count(*) FROM \(table)")
  }

  /// The one number that a query of an SQLite database returns.
  func number(_ database: String, _ query: String) throws(BenchError) -> Int {
    let text = try output("sqlite3", "-readonly", "-cmd", ".timeout 10000", database, query)
    guard let number = Int(text.filter { !$0.isWhitespace }) else {
      throw .command("sqlite3 found no number: \(text)")
    }
    return number
  }

  /// The identifiers in one column of an SQLite table, by those in another column.
  func identifiers(
    _ database: String, _ key: String, _ value: String, of table: String
  ) throws(BenchError) -> [Identifier: Identifier] {
    let text = try output(
      "sqlite3", "-readonly", database, "SELECT hex(\(key)), hex(\(value)) FROM \(table)")
    var found: [Identifier: Identifier] = [:]
    for line in text.split(separator: "\n") {
      let ids = line.split(separator: "|").compactMap { Hex.decode($0.utf8) }
        .compactMap { Identifier(bytes: $0) }
      guard ids.count == 2 else { throw .command("sqlite3 printed no identifiers: \(line)") }
      found[ids[0]] = ids[1]
    }
    return found
  }

  /// How many times a second 4 KiB can be appended to a file and made durable, one after another.
  func syncsPerSecond() throws(BenchError) -> Double {
    let descriptor = unsafe open(file("syncs"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .system("create a file", errno: errno) }
    defer { close(descriptor) }
    let page = [UInt8](repeating: 7, count: 4096)
    let start = MonotonicTime.now()
    var count = 0
    while MonotonicTime.now().seconds(since: start) < 1 {
      guard unsafe Glibc.write(descriptor, page, page.count) == page.count,
        fdatasync(descriptor) == 0
      else { throw .system("write durably", errno: errno) }
      count += 1
    }
    return Double(count) / MonotonicTime.now().seconds(since: start)
  }

  private static func programPath() -> String? {
    var bytes = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink("/proc/self/exe", &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
