import Base
import Configuration
import Glibc
import Storage
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Commands that root runs while the servers run as another user: the files that they make must belong to
/// that user.
@Suite(.enabled(if: geteuid() == 0, "only root can make files of another user's"))
struct RootBesideServersTests {
  private static let servers: UInt32 = 65534

  private let scratch: ScratchDirectory
  private let archive: String

  /// Exports an account whose documents' contents are objects.
  init() throws {
    scratch = try ScratchDirectory()
    archive = scratch.path + "/ada.tar"
    let old = try Installation(.sqlite)
    let sync = try old.start(.sync)
    let writer = try KeepingWriter(old.device(of: sync), seed: 19)
    writer.write(times: 25)
    let account = try writer.device.account.description
    let made = try old.command("account", "export", account, "--to", archive)
    #expect(made.end == .exited(0), "\(made.output)")
  }

  /// A directory and everything below it, with the owners.
  private static func owners(_ path: String) -> [(path: String, owner: UInt32)] {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return [] }
    let own = [(path: path, owner: UInt32(status.st_uid))]
    guard status.st_mode & S_IFMT == S_IFDIR else { return own }
    return own + Files.names(in: path).flatMap { owners("\(path)/\($0)") }
  }

  private static func give(_ path: String, to user: UInt32) {
    for (path, _) in owners(path) { #expect(unsafe lchown(path, user, user) == 0) }
  }

  private static func strange(_ path: String) -> [String] {
    owners(path).filter { $0.owner != servers }.map(\.path)
  }

  /// A Coffer whose database and objects belong to the servers' user, and whose servers do not run.
  private static func ofAnother() throws -> Installation {
    let installation = try Installation(.sqlite)
    let sync = try installation.start(.sync)
    #expect(sync.stop() == .exited(0))
    for part in ["database", "objects"] { give("\(installation.directory)/\(part)", to: servers) }
    return installation
  }

  @Test func `an account that root takes in is the servers' to read and write`() throws {
    let installation = try Self.ofAnother()
    let taken = try installation.command("account", "import", archive)
    #expect(taken.end == .exited(0), "\(taken.output)")
    let objects = Self.owners("\(installation.directory)/objects").filter {
      $0.path.split(separator: "/").last.map { Identifier(String($0)) != nil } ?? false
    }
    #expect(!objects.isEmpty)
    for part in ["database", "objects"] {
      #expect(Self.strange("\(installation.directory)/\(part)") == [])
    }
    let looked = try installation.command("doctor", "--json")
    #expect(looked.output.contains(#""name":"permissions","state":"ok""#), "\(looked.output)")
  }

  @Test func `the logs beside the database are the servers' while root's command runs`() throws {
    let installation = try Self.ofAnother()
    let database = try Database.open(installation.location, owning: .sync, .requiresSchema)
    defer { database.close() }
    try database.write(for: nil) { try $0.execute("UPDATE sync.accounts SET seq = seq") }
    let names = Files.names(in: "\(installation.directory)/database")
    #expect(names.contains("sync.db-wal"))
    #expect(Self.strange("\(installation.directory)/database") == [])
  }

  @Test
  func `root's migration, backup and restore in a directory of another user's are that user's`()
    throws
  {
    let installation = try Self.ofAnother()
    let home = installation.directory
    let taken = try installation.command("account", "import", archive)
    #expect(taken.end == .exited(0), "\(taken.output)")
    for name in ["backups", "restored", "fresh"] {
      try Files.createFolder("\(home)/\(name)")
      Self.give("\(home)/\(name)", to: Self.servers)
    }
    let backed = try installation.command("backup", "\(home)/backups")
    #expect(backed.end == .exited(0), "\(backed.output)")
    let restored = try installation.command(
      "restore", "\(home)/backups", "--into", "\(home)/restored")
    #expect(restored.end == .exited(0), "\(restored.output)")
    let fresh = try Database.open(
      .sqlite(directory: "\(home)/fresh/database"), owning: .sync, .migrates)
    fresh.close()
    let exported = try installation.command(
      "account", "create", "--username", "bob", "--key-file", "\(home)/fresh/bob.key")
    #expect(exported.end == .exited(0), "\(exported.output)")
    for name in ["backups", "restored", "fresh"] {
      #expect(Self.owners("\(home)/\(name)").count > 2)
      #expect(Self.strange("\(home)/\(name)") == [])
    }
  }

  @Test(arguments: ["folder", "object", "database"])
  func `doctor finds what another user made in a store`(what: String) throws {
    let installation = try Self.ofAnother()
    let taken = try installation.command("account", "import", archive)
    #expect(taken.end == .exited(0), "\(taken.output)")
    let home = installation.directory
    let object = try #require(
      Self.owners("\(home)/objects").map(\.path).last {
        $0.split(separator: "/").last.map { Identifier(String($0)) != nil } ?? false
      })
    let path =
      switch what {
      case "folder": String(object[..<(try #require(object.lastIndex(of: "/")))])
      case "object": object
      default: "\(home)/database/sync.db"
      }
    #expect(unsafe chown(path, 0, 0) == 0)
    let looked = try installation.command("doctor")
    let line = looked.output.split(separator: "\n").first { $0.hasPrefix("permissions") }
    #expect(line?.contains("failed") == true, "\(looked.output)")
    #expect(line?.contains(path) == true, "\(looked.output)")
    #expect(looked.output.contains("as root: chown -R "), "\(looked.output)")
  }

  @Test func `a file with two names is nobody's to give away`() throws {
    let place = "\(scratch.path)/place"
    try Files.createFolder(place)
    let file = "\(scratch.path)/system"
    try Files.write("root's own", to: file)
    #expect(unsafe link(file, "\(place)/coffer.lock") == 0)
    #expect(unsafe chown(place, Self.servers, Self.servers) == 0)
    let descriptor = unsafe open("\(place)/coffer.lock", O_RDWR)
    defer { close(descriptor) }
    #expect(FileOwnership.handOver(descriptor, at: "\(place)/coffer.lock"))
    #expect(Self.owners(file).map(\.owner) == [0])
  }
}
