import Accounts
import Backup
import Base
import CommandLine
import Configuration
import Glibc
import Objects
import S3
import Storage
import Sync

/// Checks of disks: permissions, free space, the database's files, objects.
extension Doctor {
  package func files() -> [Check] {
    var directories: [String] = []
    if let sqliteDirectory { directories.append(sqliteDirectory) }
    directories += configuration.objects?.directories ?? []
    var checks = [room(directories)]
    let databaseFiles = sqliteDirectory.map { DatabaseFiles(directory: $0).paths } ?? []
    checks.append(permissions(directories + databaseFiles))
    if let sqliteDirectory { checks.append(log(DatabaseFiles(directory: sqliteDirectory))) }
    return checks
  }

  // MARK: Room and rights

  /// What is free, in percent of all. A file system without a limit of inodes may report 2^64 - 1 free ones of a few.
  static func percent(_ free: UInt64, of all: UInt64) -> UInt64 {
    UInt64(min(100, Double(free) * 100 / Double(all)))
  }

  private func room(_ directories: [String]) -> Check {
    guard !directories.isEmpty else {
      return Check("disk", .skipped, "nothing is stored on this machine")
    }
    var fullest: (percent: UInt64, path: String)?
    for path in directories {
      var status = statvfs()
      guard unsafe statvfs(path, &status) == 0, status.f_blocks > 0 else {
        return Check("disk", .failed, "the free space of \(path) is unknown")
      }
      var percent = Self.percent(UInt64(status.f_bavail), of: UInt64(status.f_blocks))
      if status.f_files > 0 {
        percent = min(percent, Self.percent(UInt64(status.f_favail), of: UInt64(status.f_files)))
      }
      if fullest.map({ percent < $0.percent }) ?? true { fullest = (percent, path) }
    }
    guard let (percent, path) = fullest else { return Check("disk", .skipped, "there is none") }
    let text = "\(percent) % of the space or of the inodes is free at \(path)"
    let remedy = "add space before writes are refused"
    return percent < 2
      ? Check("disk", .failed, text, remedy)
      : percent < 10 ? Check("disk", .warning, text, remedy) : Check("disk", .ok, text)
  }

  private func permissions(_ paths: [String]) -> Check {
    guard !(paths + secretFiles).isEmpty else {
      return Check("permissions", .skipped, "nothing is stored on this machine")
    }
    var (open, closed): ([String], [String]) = ([], [])
    func look(_ path: String, _ rights: UInt32, of mode: UInt32) {
      guard rights != 0 else { return }
      if extent.fixes, unsafe chmod(path, mode & 0o7777 & ~rights) == 0 {
        closed.append(path)
      } else {
        open.append(path)
      }
    }
    for path in paths {
      let mode = Self.mode(path)
      look(path, mode & 0o077, of: mode)
    }
    for path in secretFiles {
      look(path, SecretFile.rightsOfOthers(path), of: Self.mode(path))
    }
    var texts: [String] = []
    if !closed.isEmpty { texts.append("closed to others: \(closed.joined(separator: ", "))") }
    if !open.isEmpty { texts.append("open to others: \(open.joined(separator: ", "))") }
    let strange = strangers()
    guard strange.isEmpty else {
      return Check(
        "permissions", .failed, (strange.map(\.text) + texts).joined(separator: "; "),
        "as root: " + strange.map(\.remedy).joined(separator: "; "), isRepair: !closed.isEmpty)
    }
    let text =
      texts.isEmpty
      ? "only their owner can read database, objects and secrets" : texts.joined(separator: "; ")
    let remedy = "run coffer doctor --fix as their owner to close them"
    return open.isEmpty
      ? Check("permissions", .ok, text, isRepair: !closed.isEmpty)
      : Check("permissions", .warning, text, remedy, isRepair: !closed.isEmpty)
  }

  /// What the servers cannot open, because a command of another user made it.
  private func strangers() -> [(text: String, remedy: String)] {
    let looked =
      [sqliteDirectory.flatMap { path in OwnershipAudit.database(in: path).map { (path, $0) } }]
      + (configuration.objects?.directories ?? []).map { path in
        OwnershipAudit.objects(in: path).map { (path, $0) }
      }
    return looked.compactMap { $0 }.compactMap { path, audit in
      guard let first = audit.first else { return nil }
      let owner = UnixUser.name(of: audit.owner)
      return (
        "\(owner) owns \(path), but not \(counted(audit.count, "name")) in it, the first is \(first)",
        "chown -R \(owner): \(path)"
      )
    }
  }

  private static func mode(_ path: String) -> UInt32 {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status.st_mode : 0
  }

  // MARK: The database's files

  private static let logByteCountMax: Int64 = 256 << 20

  private func log(_ files: DatabaseFiles) -> Check {
    let byteCount = Schema.allCases.map { files.logByteCount(of: $0) }.max() ?? 0
    let text = "the longest write-ahead log has \(ByteCount.text(byteCount))"
    return byteCount > Self.logByteCountMax
      ? Check(
        "log", .warning, text,
        "a long read, such as a backup, keeps it; it is truncated once that ends")
      : Check("log", .ok, text)
  }

  package func integrity(_ directory: String) -> Check {
    guard extent.isDeep else {
      return Check("integrity", .skipped, "--deep reads both database files whole")
    }
    return check("integrity") {
      let files = DatabaseFiles(directory: directory)
      let faults = try Schema.allCases.flatMap { try files.faults(of: $0) }
      return faults.first.map {
        Check("integrity", .failed, "a file is damaged: \($0)", "coffer restore a backup")
      } ?? Check("integrity", .ok, "SQLite finds both files whole")
    }
  }

  // MARK: Objects

  /// Why no object is checked: their place is not given, or there is no store.
  private var unseen: String {
    configuration.objects == nil
      ? "COFFER_OBJECTS is not set here" : "there is no object store to check"
  }

  func objectRows() -> Check {
    check("objects") {
      guard let objects else { return Check("objects", .skipped, unseen) }
      let audit = ObjectAudit(database, objects)
      let progress = Progress("looking for objects", .count(of: "objects"))
      let sample = extent.walksObjects ? nil : randomAccount()
      let (checked, missing) = try audit.missing(sample: sample) { progress.done = $0 }
      guard checked > 0 else {
        return Check("objects", .skipped, "no document\(walkText) has an object of its own")
      }
      let what = "\(counted(checked, "object"))\(walkText) that documents need"
      guard let first = missing.first.first else {
        return Check("objects", .ok, "present, with the recorded length: \(what)")
      }
      return Check(
        "objects", .failed,
        "missing or too short: \(missing.count.grouped) of \(what), the first is \(first.id) of a "
          + first.kind, "coffer restore a backup elsewhere and copy them from its objects",
        missing: missing.first)
    }
  }

  private var walkText: String { extent.walksObjects ? "" : " of a sample" }

  /// Checks small contents, which are in the database.
  package func contents() throws -> Check {
    let progress = Progress("looking for small contents", .count(of: "rows"))
    let sample = extent.walksObjects ? nil : randomAccount()
    let (checked, missing) = try InlineAudit(database).missing(sample: sample) {
      progress.done = $0
    }
    guard checked > 0 else {
      return Check("contents", .skipped, "no document\(walkText) has a small content")
    }
    let what = "\(counted(checked, "small content"))\(walkText)"
    guard let first = missing.first.first else {
      return Check("contents", .ok, "present, with the recorded length: \(what)")
    }
    return Check(
      "contents", .failed,
      "missing or of a different length: \(missing.count.grouped) of \(what), the first is of the document "
        + "\(first.id)", "coffer restore an earlier backup; coffer tree validate --all lists them")
  }

  package func orphans() throws -> Check {
    guard extent.walksObjects else {
      return Check("orphans", .skipped, "--objects looks for unreferenced objects")
    }
    guard let objects else { return Check("orphans", .skipped, unseen) }
    let audit = OrphanAudit(database, objects)
    let stranger = try stranger(to: objects)
    let progress = Progress("walking the object store", .count(of: "parts"), of: 256)
    var (deleted, left) = (OrphanAudit.Found(), OrphanAudit.Found())
    for byte in UInt8.min...UInt8.max {
      let found = try audit.orphans(
        beginningWith: byte, at: Clock.system.now(), deletes: extent.fixes && stranger == nil)
      deleted += found.deleted
      left += found.left
      progress.done = Int64(byte) + 1
    }
    func text(_ found: OrphanAudit.Found) -> String {
      "\(counted(found.count, "object")) (\(ByteCount.text(found.byteCount)))"
    }
    guard deleted.count + left.count > 0 else {
      return Check("orphans", .ok, "every object older than a day is referenced")
    }
    let done = deleted.count > 0 ? "unreferenced: \(text(deleted)), deleted" : ""
    guard left.count > 0 else { return Check("orphans", .ok, done, isRepair: true) }
    if let stranger {
      return Check(
        "orphans", stranger.state, "unreferenced: \(text(left)), kept, because \(stranger.why)",
        stranger.remedy)
    }
    let rest = "no row names \(text(left))" + (extent.fixes ? ": kept while a backup runs" : "")
    return Check(
      "orphans", .warning, done.isEmpty ? rest : "\(done); \(rest)",
      "coffer doctor --objects --fix deletes them", isRepair: deleted.count > 0)
  }

  /// Why rows do not show which objects are garbage: another database's rows may name them. Nil if
  /// coffer-sync started with both, so long ago that a mistake would have been noticed.
  private func stranger(
    to objects: any ObjectStore
  ) throws -> (state: Check.State, why: String, remedy: String)? {
    guard let owner = try objects.owner() else {
      return (
        .warning, "coffer-sync of this database has not started on this store",
        "if both are from one installation, start coffer-sync and check again a day later"
      )
    }
    guard owner.history == (try database.read(History.id)) else {
      return (
        .failed,
        "coffer-sync of another database, or of another state of it, started on this store",
        "set COFFER_DATABASE and COFFER_OBJECTS as for coffer-sync"
      )
    }
    return owner.since < Clock.system.now() - OrphanAudit.grace
      ? nil
      : (
        .warning, "coffer-sync of this database started on this store less than a day ago",
        "look again a day after that"
      )
  }

  /// How far objects have moved to another store.
  func migration(_ pair: PairStore) -> Check {
    check("migration") {
      let byte = UInt8.random(in: .min ... .max)
      let progress = Progress("comparing the object stores", .count(of: "parts"), of: 256)
      let found = try ObjectMigration(database, pair, copies: false).run(
        extent.walksObjects ? .min ... .max : byte...byte
      ) { progress.done = Int64($1) }
      let remedy = "run coffer objects migrate until it says that nothing is left"
      guard extent.walksObjects else {
        return found.leftCount > 0
          ? Check(
            "migration", .warning,
            "in COFFER_OBJECTS_ALSO only: \(counted(found.leftCount, "object")) of a sample, a 256th of all",
            remedy)
          : Check(
            "migration", .ok, "every object of a sample, a 256th of all, is in COFFER_OBJECTS")
      }
      return Check(
        "migration", .warning,
        found.isComplete
          ? "every object that documents need is in COFFER_OBJECTS"
          : "in COFFER_OBJECTS_ALSO only: \(counted(found.leftCount, "object")), "
            + "\(ByteCount.text(found.leftByteCount)), and \(counted(found.uploadCount, "upload")) under way",
        remedy)
    }
  }

  package func leftovers() throws -> Check {
    guard let objects else { return Check("leftovers", .skipped, unseen) }
    let old = try OrphanAudit(database, objects)
      .leftovers(before: Clock.system.now() - OrphanAudit.grace)
    if extent.fixes { for key in old { try objects.deleteLeftover(key) } }
    if old.isEmpty { return Check("leftovers", .ok, "no upload was left half way") }
    let text = "interrupted more than a day ago: \(counted(old.count, "upload"))"
    return extent.fixes
      ? Check("leftovers", .ok, text + ", deleted", isRepair: true)
      : Check(
        "leftovers", .warning, text, "start coffer-sync, which clears them, or coffer doctor --fix")
  }
}
