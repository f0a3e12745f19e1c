package import Accounts
package import Base
package import JSON
import Requests
package import Storage

/// An account's documents of versions in an archive, checked before anything of them is written.
package struct ArrivingDocuments: Sendable {
  /// Calls its argument with each page of versions, in order.
  package typealias Pages = (_ each: (JSON) throws -> Void) throws -> Void

  private struct Blob: Sendable {
    let id: Identifier
    let number: Int64
    let byteCount: Int64

    init(_ json: JSON) throws(RequestRefusal) {
      try json.requireMembers(["id", "number", "bytes"])
      id = try json["id"].identifier()
      guard let number = json["number"].integer, number > 0,
        let byteCount = json["bytes"].integer, byteCount >= 0
      else { throw .bodyInvalid(path: json.path, rule: "must be a blob") }
      (self.number, self.byteCount) = (number, byteCount)
    }

    var file: String { "\(DocumentExport.blobs)\(id)" }
  }

  private let devices: [DocumentDevice]
  private let stored: [Blob]
  private let sequence: Int64
  /// The versions that come, current and replaced.
  package private(set) var count: Int64 = 0
  /// What the account is charged for by them.
  package private(set) var weight = UsageWeight()
  /// The part of it for replaced versions.
  private var historyByteCount: Int64 = 0
  /// The latest moment that a version names; nil without versions.
  package private(set) var latest: Instant?

  package static let list = DocumentExport.list
  package static let folder = DocumentExport.folder
  package static let blobs = DocumentExport.blobs
  /// All are written in one transaction, for which others wait.
  private static let countMax: Int64 = 1_000_000

  /// Reads the list of devices (nil: no documents) and every version, with its signature. `blobs` are the lengths of
  /// the files of blobs by name, `keys` the account's, and `sequence` the number of its latest change.
  package init(
    _ list: JSON?, pages: Pages, blobs: [String: Int64], keys: Set<[UInt8]>, sequence: Int64
  ) throws {
    self.sequence = sequence
    devices = try Self.read { () throws(RequestRefusal) in
      try (list?["devices"].array ?? []).map { json throws(RequestRefusal) in
        try DocumentDevice(moved: json)
      }
    }
    stored = try Self.read { () throws(RequestRefusal) in
      try (list?["blobs"].array ?? []).map { json throws(RequestRefusal) in try Blob(json) }
    }
    guard Set(stored.map(\.id)).count == stored.count,
      Set(stored.map(\.number)).count == stored.count,
      stored.allSatisfy({ $0.number <= sequence }),
      Dictionary(uniqueKeysWithValues: stored.map { ($0.file, $0.byteCount) }) == blobs
    else { throw Self.error("has other blobs than the archive, or one twice") }
    weight = UsageWeight(
      contentByteCount: stored.reduce(0) { $0 + DocumentBlob.charge($1.byteCount) })
    let authors = Set(devices.map(\.author))
    guard authors.count == devices.count, authors.isSubset(of: keys) else {
      throw Self.error("has a device twice, or one that is not the account's")
    }
    var check = Check(devices)
    try pages { page in
      for stored in try Self.versions(of: page) {
        try check.add(stored)
        count += 1
        let added = UsageWeight(
          recordCount: stored.replaced == nil ? 1 : 0,
          contentByteCount: stored.version.chargedByteCount)
        weight = weight + added
        if stored.replaced != nil { historyByteCount += stored.version.chargedByteCount }
        for moment in [stored.stored, stored.replaced ?? stored.stored] {
          latest = max(latest ?? moment, moment)
        }
      }
      guard count <= Self.countMax else { throw Self.error("has too many versions") }
    }
    guard check.last <= sequence else {
      throw Self.error("has a number that the account did not reach")
    }
    try check.requireFinalDeletions()
  }

  private static func versions(of page: JSON) throws -> [StoredVersion] {
    try read { () throws(RequestRefusal) in
      guard let list = page["versions"].array else {
        throw .bodyInvalid(path: page["versions"].path, rule: "must be a list of versions")
      }
      return try list.map { json throws(RequestRefusal) in try StoredVersion(moved: json) }
    }
  }

  private static func read<Value>(_ body: () throws(RequestRefusal) -> Value) throws -> Value {
    do throws(RequestRefusal) { return try body() } catch {
      guard case .bodyInvalid(let errors) = error, let first = errors.first else { throw error }
      throw JSONError(code: .wrongType, path: first.path, message: first.rule)
    }
  }

  fileprivate static func error(_ message: String) -> JSONError {
    JSONError(code: .wrongType, path: list, message: message)
  }

  /// Writes the versions under their numbers, so that every clock and every cursor means here what it meant there. The
  /// charge is the caller's part. What the plan does not keep goes a day later: until then the account has its plan.
  /// `objects` are the stored blobs, by the names of their files.
  package func insert(
    of account: Identifier, pages: Pages, objects: [String: Identifier], at now: Instant,
    in transaction: Transaction
  ) throws {
    guard !devices.isEmpty || !stored.isEmpty else { return }
    for device in devices { try device.insert(of: account, in: transaction) }
    let rows = VersionRows(transaction, of: account)
    try pages { page in try rows.insert(try Self.versions(of: page)) }
    for blob in stored {
      guard let object = objects[blob.file] else { continue }
      let arriving = DocumentBlob(
        id: blob.id, owner: account, number: blob.number, object: object,
        byteCount: blob.byteCount)
      guard try arriving.insert(transaction, now: now) else {
        throw Self.error("has the blob \(blob.id), whose id is in use here")
      }
    }
    try DocumentBlob.forgetForeignNames(of: account, in: transaction)
    try DocumentBlob.markNamed(Set(stored.map(\.id)), of: account, transaction)
    var totals = try DocumentTotals(transaction, of: account)
    (totals.recordCount, totals.byteCount) = (weight.recordCount, weight.contentByteCount)
    totals.historyByteCount = historyByteCount
    totals.number = sequence
    totals.look(at: now + DocumentPurge.pauseMax)
    try totals.save(transaction, of: account)
  }
}

/// Compares versions with each other. They come in the order of their numbers.
private struct Check {
  private let highest: [[UInt8]: Int64]
  private(set) var last: Int64 = 0
  private var counters: [[UInt8]: Set<Int64>] = [:]
  /// The authors of each document's current versions.
  private var authors: [Identifier: [[UInt8]]] = [:]
  private var deleted: Set<Identifier> = []

  init(_ devices: [DocumentDevice]) {
    highest = Dictionary(uniqueKeysWithValues: devices.map { ($0.author, $0.counter) })
  }

  mutating func add(_ stored: StoredVersion) throws {
    let version = stored.version
    guard stored.number > last else { throw Self.error("is not in order", stored) }
    last = stored.number
    guard version.isSigned else { throw Self.error("is not signed by its author", stored) }
    guard version.counter <= highest[version.author] ?? 0 else {
      throw Self.error("is beyond its device's counter", stored)
    }
    guard counters[version.author, default: []].insert(version.counter).inserted else {
      throw Self.error("has the counter of another", stored)
    }
    guard stored.replaced == nil else { return }
    if version.isDeletion { deleted.insert(version.document) }
    let others = authors[version.document] ?? []
    guard others.count < DocumentStates.currentCountMax, !others.contains(version.author) else {
      throw Self.error("is one too many of its document", stored)
    }
    authors[version.document] = others + [version.author]
  }

  /// A deletion is the only current version of its document.
  func requireFinalDeletions() throws {
    for document in deleted where authors[document]?.count != 1 {
      throw ArrivingDocuments.error("has a version beside the deletion of \(document)")
    }
  }

  private static func error(_ message: String, _ stored: StoredVersion) -> JSONError {
    ArrivingDocuments.error("has a version with the number \(stored.number) that \(message)")
  }
}
