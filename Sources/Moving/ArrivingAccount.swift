import Accounts
package import Archive
package import Base
import CommandLine
import Configuration
package import Documents
import JSON
package import Ledger
package import Logs
import Repair
import Storage
package import Subscriptions
package import Sync

/// An account in an archive, with every digest and signature checked. Nothing of it is written before that.
package struct ArrivingAccount: Sendable {
  package let account: MovedAccount
  package let tree: MovedTree
  package let logs: ArrivingLogs
  package let budgets: ArrivingBudgets
  package let documents: ArrivingDocuments
  package let archive: ArchiveReader
  package let subscriptions: [ObjectKey]
  package let decided: [Decided]
  package let deliveries: [ArchivedDelivery]
  /// The subscriptions of which something was erased there, so that only their stores can report it.
  package let erased: [ObjectKey]
  /// The secrets that purchases are read by.
  package let secrets: [(key: ObjectKey, secret: Secret)]

  /// Reads and checks an archive. Throws one line about the first error.
  package init(_ path: String) throws {
    archive = try ArchiveReader(path, kind: AccountArchive.kind, format: AccountArchive.format)
    try Self.requireKnownNames(of: archive, path)
    let total = archive.files.reduce(0) { $0 + $1.byteCount }
    let progress = Progress("checking", .bytes, of: total)
    try archive.verify { progress.done += $0 }
    do {
      account = try MovedAccount(try Self.json(AccountArchive.account, archive))
      var tree = MovedTree(of: account)
      for file in archive.files(in: TreeExport.files) {
        for record in try Self.records(
          file, archive, of: account.id, areChecked: false)
        { try tree.add(record) }
      }
      for file in archive.files(in: TreeExport.contents) {
        try tree.addContent(of: try Self.document(file), byteCount: file.byteCount)
      }
      try tree.requireWhole()
      self.tree = tree
      let listed = archive.file(named: ArrivingLogs.list) != nil
      let snapshots = archive.files(in: ArrivingLogs.snapshots).map { ($0.name, $0.byteCount) }
      let logs = try ArrivingLogs(
        listed ? Self.json(ArrivingLogs.list, archive) : nil, pages: Self.pages(of: archive),
        snapshots: Dictionary(snapshots) { first, _ in first }, sequence: account.sequence)
      for file in archive.files(in: ArrivingLogs.folder) where !logs.holds(file.name) {
        throw MovingError("\(file.name) is of no log that comes")
      }
      self.logs = logs
      let isNamed = archive.file(named: ArrivingBudgets.list) != nil
      budgets = try ArrivingBudgets(
        isNamed ? Self.json(ArrivingBudgets.list, archive) : nil, of: logs)
      let hasDocuments = archive.file(named: ArrivingDocuments.list) != nil
      let blobs = archive.files(in: ArrivingDocuments.blobs).map { ($0.name, $0.byteCount) }
      documents = try ArrivingDocuments(
        hasDocuments ? Self.json(ArrivingDocuments.list, archive) : nil,
        pages: Self.documents(of: archive), blobs: Dictionary(blobs) { first, _ in first },
        keys: Set(account.devices.map(\.publicKey)), sequence: account.sequence)
      let billing = try Self.json(AccountArchive.billing, archive)
      subscriptions = try Self.subscriptions(try billing["subscriptions"].requireArray())
      erased = try Self.subscriptions(try billing["erased"].requireArray())
      let id = account.id
      decided = try billing["decisions"].requireArray().map { json in
        do { return try Decided(json, of: id) } catch DatabaseError.statement(let reason) {
          throw MovingError("\(json.path): \(reason)")
        }
      }
      deliveries = try billing["deliveries"].requireArray().map { try ArchivedDelivery($0) }
      secrets = try (billing["secrets"].members ?? []).map { name, json in
        guard let key = ObjectKey(name) else { throw MovingError("a secret is of no purchase") }
        return (key, Secret(try json.requireString()))
      }
    } catch { throw Self.failure(error, path) }
  }

  /// The subscriptions that operators transferred to the account there, including claims that are
  /// moved as if they had.
  package var transferred: Set<ObjectKey> {
    Set(
      decided.compactMap { one in
        if case .transfer(_, let key, _) = one.decision { key } else { nil }
      })
  }

  /// Checked before anything is read: what the format does not name is no part of an account.
  private static func requireKnownNames(
    of archive: ArchiveReader, _ path: String
  ) throws(CommandFailure) {
    let folders = [
      TreeExport.files, TreeExport.contents, ArrivingLogs.folder, ArrivingLogs.snapshots,
      ArrivingDocuments.folder, ArrivingDocuments.blobs, AccountArchive.deliveries,
    ]
    let names = [
      AccountArchive.account, AccountArchive.billing, ArrivingLogs.list, ArrivingBudgets.list,
      ArrivingDocuments.list,
    ]
    for file in archive.files where !names.contains(file.name) {
      guard folders.contains(where: file.name.hasPrefix) else {
        throw CommandFailure(
          .refused, Printable.text("\(path): \(file.name) is not part of an account archive"))
      }
    }
  }

  /// Throws if anything is dated in the future, apart from differences of clocks. Timestamps of messages may be as far
  /// ahead as in a request.
  func requirePast(at now: Instant) throws(MovingError) {
    let moments =
      account.moments + logs.moments + deliveries.map(\.received)
      + [tree.latest, documents.latest].compactMap { $0 }
    for moment in moments
    where !(Instant(milliseconds: 0)...now + .days(1)).contains(moment) {
      throw MovingError("it has a time in the future: \(moment)")
    }
    if let timestamp = logs.ahead(of: now) {
      throw MovingError("it has a timestamp of a log in the future: \(timestamp)")
    }
  }

  /// The records of one page.
  package static func records(
    _ file: ArchiveReader.File, _ archive: ArchiveReader, of account: Identifier, areChecked: Bool
  ) throws -> [MovedFile] {
    try JSON.parse(try archive.bytes(of: file), limits: AccountArchive.limits)["files"]
      .requireArray().map { try MovedFile($0, of: account, isChecked: areChecked) }
  }

  static func pages(of archive: ArchiveReader) -> ArrivingLogs.Pages {
    { folder, each in
      for file in archive.files(in: folder) { try each(json(file.name, archive)) }
    }
  }

  static func documents(of archive: ArchiveReader) -> ArrivingDocuments.Pages {
    { each in try pages(of: archive)(ArrivingDocuments.folder, each) }
  }

  /// The document that a file of the archive holds the content of.
  package static func document(_ file: ArchiveReader.File) throws -> Identifier {
    guard let id = Identifier(String(file.name.dropFirst(TreeExport.contents.count))) else {
      throw MovingError("\(file.name) is not the content of a document")
    }
    return id
  }

  private static func subscriptions(_ list: [JSON]) throws -> [ObjectKey] {
    try list.map { json in
      guard let key = json.string.flatMap({ ObjectKey($0) }) else {
        throw MovingError("it names an invalid subscription")
      }
      return key
    }
  }

  private static func json(_ name: String, _ archive: ArchiveReader) throws -> JSON {
    guard let file = archive.file(named: name) else { throw MovingError("\(name) is missing") }
    return try JSON.parse(try archive.bytes(of: file), limits: AccountArchive.limits)
  }

  package static func failure(_ error: any Error, _ path: String) -> any Error {
    switch error {
    case let error as MovingError: CommandFailure(.refused, Printable.text("\(path): \(error)"))
    case let error as JSONError:
      CommandFailure(.refused, Printable.text("\(path): \(error.path) \(error.message)"))
    case DatabaseError.constraint:
      CommandFailure(.refused, "\(path): one of its ids is already used here")
    default: error
    }
  }
}

extension ArchiveReader {
  /// The files below a folder.
  package func files(in folder: String) -> some Sequence<File> {
    files.lazy.filter { $0.name.hasPrefix(folder) }
  }
}
