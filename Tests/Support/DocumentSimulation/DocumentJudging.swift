import Accounts
import Base
import Crypto
import Documents
import JSON
import Simulation
import Storage
import Sync
import TestDevices
import TreeSimulation

/// Comparing the program's answers and rows with the model, which follows them.
extension DocumentStory {
  func judge(_ answer: Answer, to sent: SentAct) throws {
    if let first = recorded[sent.number], model.accounts[sent.account]?.known[key(of: sent)] != nil
    {
      guard answer.status == first.status, answer.holds(first.body) else {
        throw Mismatch("\(sent.act.name) again: \(UnexpectedAnswer(answer))")
      }
      return
    }
    let isRight: Bool
    switch sent.act {
    case .push(let batch): isRight = try judge(answer, toPush: batch, sent)
    case .pull(let clock, _, let place, let limit):
      isRight = try judge(answer, toPull: clock, after: place, limit: limit, sent)
    case .history(let document): isRight = try judge(answer, toHistoryOf: document, sent)
    }
    guard isRight else {
      throw Mismatch("\(sent.act.name): the model says otherwise: \(UnexpectedAnswer(answer))")
    }
  }

  private func key(of sent: SentAct) -> Key { sent.device.key.publicKey.bytes }

  private func judge(
    _ answer: Answer, toPush batch: [Version], _ sent: SentAct
  ) throws -> Bool {
    let outcome = model.push(batch, by: key(of: sent), of: sent.account, at: now)
    guard case .stored(let counter, let stored, let repeated, let deleted) = outcome else {
      return try isRefusal(answer, outcome)
    }
    recorded[sent.number] = answer
    storedCount += Int(stored)
    let json = try answer.json
    guard answer.status == 200, json["counter"].integer == counter,
      json["stored"].integer == stored, json["repeated"].integer == repeated
    else { return false }
    return (json["deleted"].array ?? []).compactMap(\.identifier) == deleted
  }

  private func judge(
    _ answer: Answer, toPull clock: Clock, after place: DocumentModel.Place?, limit: Int,
    _ sent: SentAct
  ) throws -> Bool {
    switch model.pull(clock, after: place, limit: limit, by: key(of: sent), of: sent.account) {
    case .failure(let refusal): return try isRefusal(answer, refusal.outcome)
    case .success(let page):
      let json = try answer.json
      guard answer.status == 200, json["more"].bool == page.hasMore,
        json["counter"].integer == page.counter, Version.clock(json["clock"]) == page.clock,
        (json["versions"].array ?? []).allSatisfy({
          $0["account"].exists == ($0["version"]["to"][0].identifier == sent.account)
        })
      else { return false }
      return Self.versions(json["versions"]) == page.versions
    }
  }

  private func judge(
    _ answer: Answer, toHistoryOf document: Identifier, _ sent: SentAct
  ) throws -> Bool {
    guard let account = model.accounts[sent.account], account.known[key(of: sent)] != nil else {
      return answer.status == 401
    }
    let rows = account.rows.filter { $0.version.document == document }
    guard !rows.isEmpty else { return answer.status == 404 }
    let json = try answer.json
    let current = (json["current"].array ?? []).compactMap { version in
      version["author"].base64.map {
        DocumentModel.Place(author: $0, counter: version["counter"].integer ?? 0)
      }
    }
    let replaced = rows.filter { $0.replaced != nil }.prefix(100).map(\.version)
    guard answer.status == 200,
      current == rows.filter({ $0.replaced == nil }).map({ DocumentModel.Place($0.version) })
    else { return false }
    return Self.versions(json["replaced"]) == replaced
  }

  private static func versions(_ json: JSON) -> [Version] {
    (json.array ?? []).compactMap { Version($0) }
  }

  private func isRefusal(_ answer: Answer, _ outcome: DocumentModel.Outcome) throws -> Bool {
    switch outcome {
    case .stored: return false
    case .unknownKey: return answer.status == 401
    case .expired: return try answer.status == 410 && answer.problem == "clock_expired"
    case .full: return try answer.status == 507 && answer.problem == "over_cap"
    case .refused(let rules, let counter):
      let json = try answer.json
      guard answer.status == 422, json["counter"].integer == counter else { return false }
      return (json["failures"].array ?? []).compactMap { $0["rule"].string } == rules
    }
  }

  // MARK: Rows

  /// The charge of each account.
  func checkUsage() throws {
    for (id, account) in model.accounts {
      let usage = try server.database.read { reader in
        try reader.first("SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(id)) { row in
          try row.integer(0)
        }
      }
      guard usage == account.usage else {
        throw Mismatch("\(id) is charged \(usage ?? -1), and must be \(account.usage)")
      }
    }
  }

  /// Every version, and what a recount and the doctor find.
  func checkRows() throws {
    for (id, account) in model.accounts {
      let rows = try rows(of: id)
      let expected = account.rows.map {
        StoredRow($0.version.author, $0.version.counter, $0.replaced)
      }
      guard rows == expected else {
        throw Mismatch("\(id) has \(rows.count) rows, and must have \(expected.count)")
      }
      let faults = try VersionedDocuments.faults(of: id, in: server.database)
      guard faults.isEmpty else { throw Mismatch("\(id): \(faults)") }
      let finding = try Recount(
        server.database, catalogue: server.catalogue,
        protocols: DocumentStory.protocols, sliceRowCount: 50
      ).audit(id)
      guard finding?.isRight == true else {
        throw Mismatch("a recount of \(id) differs: \(finding as Any)")
      }
    }
  }

  /// After all work: has the model forget the deletions that have gone, as far as they may, and finds those that had to.
  func followForgotten() throws {
    for (id, account) in model.accounts {
      let rows = Set(try rows(of: id))
      for row in account.rows where row.replaced == nil && row.version.body == nil {
        let isThere = rows.contains(StoredRow(row.version.author, row.version.counter, nil))
        if isThere {
          guard !DocumentModel.mustForget(row, at: now) else {
            throw Mismatch("a deletion of \(row.version.document) is kept for ever")
          }
        } else {
          guard model.mayForget(row, of: account, at: now) else {
            throw Mismatch("a deletion of \(row.version.document) went before a device had it")
          }
          forgottenCount += 1
          model.forget(row, of: id)
        }
      }
    }
  }

  private struct StoredRow: Hashable {
    let author: Key
    let counter: Int64
    let replaced: Instant?

    init(_ author: Key, _ counter: Int64, _ replaced: Instant?) {
      (self.author, self.counter, self.replaced) = (author, counter, replaced)
    }
  }

  private func rows(of account: Identifier) throws -> [StoredRow] {
    try server.database.read { reader in
      try reader.rows(
        """
        SELECT author_key, counter, replaced_ms FROM sync.document_versions
        WHERE account_id = $1 ORDER BY seq
        """, .id(account)
      ) { row in
        StoredRow(try row.blob(0), try row.integer(1), try row.optionalInstant(2))
      }
    }
  }
}
