import Glibc
import Storage
import TestEngines
import TestFiles
import Testing

/// The messages to a Unix user who may not read, or not write, the servers' files.
struct MissingRightTests {
  private let scratch: ScratchDatabase
  private let environment: [String: String]
  private let directory: String

  init() throws {
    scratch = try ScratchDatabase(.sqlite, with: .schemas)
    directory = scratch.directory.path + "/database"
    environment = ["COFFER_DATABASE": "sqlite://\(directory)"]
    #expect(unsafe chmod(scratch.directory.path, 0o711) == 0)
  }

  private func permit(_ mode: mode_t, _ path: String) {
    #expect(unsafe chmod(path, mode) == 0)
  }

  /// Runs the command as another user if this is root, who may do everything.
  private func another(_ words: [String]) throws -> Finished {
    let coffer = Binaries.directory + "/coffer"
    guard geteuid() == 0 else {
      return try Finished(path: coffer, words, environment: environment)
    }
    return try Finished(
      path: "/usr/bin/setpriv",
      ["--reuid=65534", "--regid=65534", "--clear-groups", coffer] + words,
      environment: environment)
  }

  @Test(arguments: [["account", "list"], ["migrate"]])
  func `who may not look into the directory is told that, and not that nothing is there`(
    words: [String]
  ) throws {
    permit(0o000, directory)
    defer { permit(0o700, directory) }
    let refused = try another(words)
    #expect(refused.code == 78)
    #expect(
      refused.errors.hasPrefix("coffer: the database cannot be used: the Unix user "),
      "\(refused.errors)")
    #expect(
      refused.errors.contains(" may not \(words == ["migrate"] ? "write" : "read") \(directory)/"))
    #expect(refused.errors.hasSuffix("as sudo -u coffer does\n"))
  }

  @Test func `doctor tells of it as of a fault`() throws {
    permit(0o000, directory)
    defer { permit(0o700, directory) }
    let refused = try another(["doctor"])
    #expect(refused.code == 1)
    #expect(refused.out.contains(" may not read \(directory)/sync.db"), "\(refused.out)")
  }

  @Test
  func `who may only read is shown what there is, and told so where something is to be written`()
    throws
  {
    // While a server has the files open, there are logs, and a reader has to write next to them.
    let database = try Database.open(scratch.location, owning: .sync, .requiresSchema)
    defer { database.close() }
    _ = try database.read { reader in
      try reader.first("SELECT 1 FROM sync.accounts, billing.sequence") { try $0.integer(0) }
    }
    permit(0o755, directory)
    for name in Files.names(in: directory) {
      permit(name.hasSuffix(".db") ? 0o444 : 0o666, "\(directory)/\(name)")
    }
    let listed = try another(["account", "list"])
    #expect(listed.code == 0, "\(listed.errors)")
    let refused = try another(["invite", "create"])
    #expect(refused.code == 78)
    #expect(refused.errors.contains(" may not write \(directory)/sync.db"), "\(refused.errors)")
  }
}
