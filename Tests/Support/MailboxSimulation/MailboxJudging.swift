import Accounts
import Base
import JSON
import Mailboxes
import Simulation
import Storage
import Sync
import TestDevices
import TreeSimulation

/// Comparing the program's answers and rows with the model, which follows them.
extension MailboxStory {
  func judge(_ answer: Answer, to sent: SentAct) throws {
    guard try isRight(answer, to: sent) else {
      throw Mismatch("\(sent.act.name): the model says otherwise: \(UnexpectedAnswer(answer))")
    }
  }

  private func isRight(_ answer: Answer, to sent: SentAct) throws -> Bool {
    if let first = recorded[sent.number], model.account(of: sent.key) != nil, isThere(sent.act) {
      return answer.status == first.status && answer.holds(first.body)
    }
    switch sent.act {
    case .send(let message):
      return try isRight(answer, model.send(message, by: sent.key, at: now), sent)
    case .read(let number, let limit):
      return try isRight(answer, toReadAfter: number, limit: limit, sent)
    case .acknowledge(let number, _):
      guard model.account(of: sent.key) != nil else { return answer.status == 401 }
      model.acknowledge(number, by: sent.key, at: now)
      recorded[sent.number] = answer
      return answer.status == 204
    case .offer(let offer):
      return try isRight(answer, model.offer(offer, by: sent.key), sent)
    case .claim(let target):
      let outcome = model.claim(of: target, by: sent.key, at: now)
      guard case .given(let packages) = outcome else { return try isRight(answer, outcome, sent) }
      return try isRight(answer, toClaimOf: target, among: packages, sent)
    }
  }

  /// A claim from a device that was revoked meanwhile is refused, even if the answer to it was lost.
  private func isThere(_ act: MailboxAct) -> Bool {
    guard case .claim(let target) = act else { return true }
    return model.account(of: target) != nil
  }

  private func isRight(
    _ answer: Answer, _ outcome: MailboxModel.Outcome, _ sent: SentAct
  ) throws -> Bool {
    func isProblem(_ status: Int, _ problem: String) throws -> Bool {
      try answer.status == status && answer.problem == problem
    }
    switch outcome {
    case .unknownKey: return answer.status == 401
    case .full: return try isProblem(507, "over_cap")
    case .differs: return try isProblem(409, "message_differs")
    case .expired: return try isProblem(409, "message_expired")
    case .tooMany: return try isProblem(409, "too_many_key_packages")
    case .notFound: return try isProblem(404, "device_not_found")
    case .noPackage: return try isProblem(409, "no_key_package")
    case .limited: return try isProblem(429, "claims_limited")
    case .undelivered(let refused):
      return try isProblem(422, "message_not_delivered")
        && Refused.list(answer.json["refused"]) == refused
    case .stored(let letter, let isRepeated):
      recorded[sent.number] = answer
      let json = try answer.json
      return answer.status == 200 && json["stored"].integer == Int64(letter.takers.count)
        && json["repeated"].bool == isRepeated && Refused.list(json["refused"]) == letter.refused
    case .offered(let count):
      recorded[sent.number] = answer
      let (json, device) = (try answer.json, model.devices[sent.key])
      return answer.status == 200 && json["stored"].integer == Int64(count)
        && json["key_packages"].integer == Int64(device?.offered.count ?? 0)
        && json["last_resort"].bool == (device?.lastResort != nil)
    case .given: return false
    }
  }

  /// No package but a last resort is given twice.
  private func isRight(
    _ answer: Answer, toClaimOf target: Key, among packages: [MailboxModel.Package],
    _ sent: SentAct
  ) throws -> Bool {
    let json = try answer.json
    guard answer.status == 200, let bytes = json["key_package"].base64,
      let package = packages.first(where: { $0.bytes == bytes }),
      json["last_resort"].bool == package.isLastResort
    else { return false }
    recorded[sent.number] = answer
    model.give(package, of: target, to: sent.key, at: now)
    return package.isLastResort || given.insert(bytes).inserted
  }

  private func isRight(
    _ answer: Answer, toReadAfter number: Int64, limit: Int, _ sent: SentAct
  ) throws -> Bool {
    guard model.account(of: sent.key) != nil else { return answer.status == 401 }
    let entries = model.entries(of: sent.key, after: number)
    let json = try answer.json
    let messages = json["messages"].array ?? []
    guard answer.status == 200, messages.count == min(limit, entries.count) else { return false }
    var last = number
    for (entry, message) in zip(entries, messages) {
      guard let number = message["number"].integer, number > last,
        entry.number == nil || entry.number == number, isRight(message, entry)
      else { return false }
      model.learn(number, of: entry.name, in: sent.key)
      last = number
    }
    let device = model.devices[sent.key]
    return json["next"].integer == (entries.count > limit ? last : nil)
      && json["key_packages"].integer == Int64(device?.offered.count ?? 0)
      && json["last_resort"].bool == (device?.lastResort != nil)
  }

  private func isRight(_ message: JSON, _ entry: MailboxModel.Entry) -> Bool {
    guard let letter = model.letter(entry.name), message["id"].identifier == entry.name.id,
      message["device"].base64 == entry.name.sender,
      message["account"].identifier == model.devices[entry.name.sender]?.account
    else { return false }
    if let missed = letter.missed {
      let devices = (message["devices"].array ?? []).compactMap(\.base64)
      return message["kind"].string == "expired" && devices.count == missed.count
        && Set(devices) == missed && !message["body"].exists
    }
    return message["kind"].string == "message" && message["body"].base64 == letter.message.body
  }

  // MARK: Rows

  func usage(of account: Identifier) throws -> Int64 {
    try server.database.read { reader in
      try reader.first(
        "SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account)
      ) { row in try row.integer(0) }
    } ?? 0
  }

  /// The charge of each account.
  func checkUsage() throws {
    for id in model.accounts.keys {
      let (usage, expected) = (try usage(of: id), model.usage(of: id))
      guard usage == expected else {
        throw Mismatch("\(id) is charged \(usage), and must be \(expected)")
      }
    }
  }

  /// Every message, how much waits in each mailbox, and what a recount and the doctor find.
  func checkRows() throws {
    for (id, account) in model.accounts {
      let rows = try server.database.read { reader in
        try reader.rows(
          """
          SELECT sender_key, id, waiting_count FROM sync.mailbox_messages WHERE sender_id = $1
          ORDER BY number
          """, .id(id)
        ) { row in StoredLetter(try row.blob(0), try row.id(1), try row.integer(2)) }
      }
      let expected = account.letters.map {
        StoredLetter($0.name.sender, $0.name.id, Int64($0.waiting.count))
      }
      guard rows == expected else {
        throw Mismatch("\(id) has \(rows.count) messages, and must have \(expected.count)")
      }
      let faults = try DeviceMailboxes.faults(of: id, in: server.database)
      guard faults.isEmpty else { throw Mismatch("\(id): \(faults)") }
      let finding = try Recount(
        server.database, catalogue: server.catalogue,
        protocols: [FileTrees.self, DeviceMailboxes.self], sliceRowCount: 50
      ).audit(id)
      guard finding?.isRight == true else {
        throw Mismatch("a recount of \(id) differs: \(finding as Any)")
      }
    }
    for (key, device) in model.devices {
      let count = try server.database.read { reader in
        try reader.first(
          "SELECT count(*) FROM sync.mailbox_entries WHERE public_key = $1", .blob(key)
        ) { row in try row.integer(0) } ?? 0
      }
      guard count == Int64(device.mailbox.count) else {
        throw Mismatch("\(count) messages wait, and must be \(device.mailbox.count)")
      }
    }
  }

  private struct StoredLetter: Equatable {
    let sender: Key
    let id: Identifier
    let waitingCount: Int64

    init(_ sender: Key, _ id: Identifier, _ waitingCount: Int64) {
      (self.sender, self.id, self.waitingCount) = (sender, id, waitingCount)
    }
  }
}
