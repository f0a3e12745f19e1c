import Accounts
import Base
import Chains
import JSON
import Mailboxes
import Simulation
import Storage
import Sync
import TestDevices
import TreeSimulation

/// Comparing the program's answers and rows with the model, which follows them.
extension ChainStory {
  func judge(_ answer: Answer, to sent: SentAct) throws {
    guard try isRight(answer, to: sent) else {
      throw Mismatch("\(sent.act.name): the model says otherwise: \(UnexpectedAnswer(answer))")
    }
  }

  private func isRight(_ answer: Answer, to sent: SentAct) throws -> Bool {
    guard let account = model.account(of: sent.key) else { return answer.status == 401 }
    if let first = recorded[sent.number] {
      return answer.status == first.status && answer.holds(first.body)
    }
    let isDone = answer.status < 300
    switch sent.act {
    case .make(let root, let isOwn):
      let outcome = model.make(root, isOwn: isOwn, by: sent.key, at: now)
      if isDone { recorded[sent.number] = answer }
      return try isRight(answer, outcome, 201, root.chain)
    case .append(let draft):
      let outcome = model.append(draft, of: account, at: now)
      if isDone { recorded[sent.number] = answer }
      return try isRight(answer, outcome, 200, draft.block.chain)
    case .tell(let chain, let epoch, let letter):
      let outcome = model.tell(letter, to: chain, epoch: epoch, by: sent.key, of: account)
      if isDone { recorded[sent.number] = answer }
      return try isRight(answer, outcome, 200, chain)
    case .leave(let chain):
      let outcome = model.leave(chain, by: account)
      if isDone { recorded[sent.number] = answer }
      guard case .done = outcome else { return try isRight(answer, outcome, 204, chain) }
      return answer.status == 204
    case .acknowledge(let number):
      model.acknowledge(number, by: sent.key, at: now)
      recorded[sent.number] = answer
      return answer.status == 204
    case .chains:
      let found = try (answer.json["chains"].array ?? []).compactMap { $0["id"].identifier }
      let seen = model.chains.keys.filter { model.chain($0, seenBy: account) != nil }
      return answer.status == 200 && found.sorted() == seen.sorted()
    case .members(let id): return try isRight(answer, toMembersOf: id, account)
    case .blocks(let id, let since, let limit):
      return try isRight(answer, toBlocksOf: id, after: since ?? -1, limit: limit, account)
    case .read(let number, let limit):
      return try isRight(answer, toReadAfter: number, limit: limit, sent)
    case .push: return false
    }
  }

  private func isProblem(_ answer: Answer, _ status: Int, _ problem: String) throws -> Bool {
    try answer.status == status && answer.problem == problem
  }

  private func isRight(
    _ answer: Answer, _ outcome: ChainModel.Outcome, _ status: Int, _ id: Identifier
  ) throws -> Bool {
    let json = try answer.json
    switch outcome {
    case .refused(let status, let problem):
      // Who was too late gets the head that won.
      return try isProblem(answer, status, problem)
        && (problem != "head_changed"
          || json["head"]["hash"].base64 == model.chains[id]?.head.hash)
    case .broken(let rule):
      return try isProblem(answer, 422, "blocks_refused") && json["rule"].string == rule
    case .done: return answer.status == status && isChain(json, id)
    case .appended(let isRepeated, let refused):
      guard answer.status == status else { return false }
      guard json["chain"].exists else { return isChain(json, id) }
      return isChain(json["chain"], id) && json["repeated"].bool == isRepeated
        && isRefused(json["refused"], refused)
    case .sent(let refused): return answer.status == status && isRefused(json["refused"], refused)
    }
  }

  /// Members take what comes in their chain, unless their key is revoked.
  private func isRefused(_ json: JSON, _ keys: [Key]) -> Bool {
    let found = json.array ?? []
    return found.count == keys.count && found.allSatisfy { $0["reason"].string == "revoked" }
      && Set(found.compactMap { $0["key"].base64 }) == Set(keys)
  }

  private func isChain(_ json: JSON, _ id: Identifier) -> Bool {
    guard let chain = model.chains[id], json["id"].identifier == id,
      json["owner"].identifier == chain.owner, json["own"].bool == chain.isOwn
    else { return false }
    return json["head"]["epoch"].integer == chain.head.epoch
      && json["head"]["hash"].base64 == chain.head.hash
      && json["member_count"].integer == Int64(chain.members.count)
      && json["replaced"]["hash"].base64 == chain.replaced?.hash
  }

  private func isRight(
    _ answer: Answer, toMembersOf id: Identifier, _ account: Identifier
  ) throws -> Bool {
    guard let chain = model.chain(id, seenBy: account) else {
      return try isProblem(answer, 404, "chain_not_found")
    }
    let (json, members) = (try answer.json, chain.members)
    let found = json["members"].array ?? []
    guard answer.status == 200, isChain(json, id), found.count == members.count else {
      return false
    }
    return found.allSatisfy { member in
      guard let key = member["public_key"].base64, let device = model.devices[key] else {
        return false
      }
      return member["epoch"].integer == members[key]
        && member["account"].identifier == device.account
        && member["revoked"].bool == device.isRevoked
        && member["left"].bool == chain.left.contains(device.account)
    }
  }

  private func isRight(
    _ answer: Answer, toBlocksOf id: Identifier, after epoch: Int64, limit: Int,
    _ account: Identifier
  ) throws -> Bool {
    guard let chain = model.chain(id, seenBy: account) else {
      return try isProblem(answer, 404, "chain_not_found")
    }
    let rest = chain.blocks.filter { $0.epoch > epoch }
    let json = try answer.json
    let found = json["blocks"].array ?? []
    guard answer.status == 200, found.count == min(limit, rest.count),
      json["head"]["hash"].base64 == chain.head.hash,
      json["more"].bool == (found.count < rest.count)
    else { return false }
    return zip(found, rest).allSatisfy { one, block in
      Block(one) == block && one["commit"].identifier == chain.commits[block.hash]?.id
    }
  }

  private func isRight(
    _ answer: Answer, toReadAfter number: Int64, limit: Int, _ sent: SentAct
  ) throws -> Bool {
    let entries = model.entries(of: sent.key, after: number)
    let json = try answer.json
    let messages = json["messages"].array ?? []
    guard answer.status == 200, messages.count == min(limit, entries.count) else { return false }
    var last = number
    for (entry, message) in zip(entries, messages) {
      guard let number = message["number"].integer, number > last,
        entry.number == nil || entry.number == number, let mail = model.mail(entry.name),
        message["id"].identifier == entry.name.id,
        message["device"].base64 == entry.name.sender,
        message["account"].identifier == model.devices[entry.name.sender]?.account,
        message["kind"].string == mail.letter.kind.rawValue,
        message["body"].base64 == mail.letter.body
      else { return false }
      model.learn(number, of: entry.name, in: sent.key)
      last = number
    }
    return json["next"].integer == (entries.count > limit ? last : nil)
  }

  // MARK: Rows

  /// The charge of each account.
  func checkUsage() throws {
    for id in model.accounts.keys {
      let (usage, expected) = (try usage(of: id), model.usage(of: id))
      guard usage == expected else {
        throw Mismatch("\(id) is charged \(usage), and must be \(expected)")
      }
    }
  }

  func usage(of account: Identifier) throws -> Int64 {
    try number("SELECT usage_bytes FROM sync.accounts WHERE id = $1", .id(account))
  }

  /// How many messages there are, and what a recount and the doctor find.
  func checkRows() throws {
    for (id, account) in model.accounts {
      let count = try number(
        "SELECT count(*) FROM sync.mailbox_messages WHERE sender_id = $1", .id(id))
      guard count == Int64(account.mail.count) else {
        throw Mismatch("\(id) has \(count) messages, and must have \(account.mail.count)")
      }
      let faults =
        try SignatureChains.faults(of: id, in: server.database)
        + DeviceMailboxes.faults(of: id, in: server.database)
      guard faults.isEmpty else { throw Mismatch("\(id): \(faults)") }
      let finding = try Recount(
        server.database, catalogue: server.catalogue, protocols: Self.protocols, sliceRowCount: 50
      ).audit(id)
      guard finding?.isRight == true else {
        throw Mismatch("a recount of \(id) differs: \(finding as Any)")
      }
    }
    for (key, device) in model.devices {
      let count = try number(
        "SELECT count(*) FROM sync.mailbox_entries WHERE public_key = $1", .blob(key))
      guard count == Int64(device.mailbox.count) else {
        throw Mismatch("\(count) messages wait, and must be \(device.mailbox.count)")
      }
    }
  }

  /// After all work, only chains that the model has are there, and each row belongs to one.
  func checkRemains() throws {
    let chains = model.chains.values
    let tables = [
      ("chains", chains.count), ("chain_blocks", chains.reduce(0) { $0 + $1.blocks.count }),
      ("chain_members", chains.reduce(0) { $0 + $1.members.count }),
    ]
    for (table, expected) in tables {
      let count = try number("SELECT count(*) FROM sync.\(table)")
      guard count == Int64(expected) else {
        throw Mismatch("\(count) rows of \(table) are there, and must be \(expected)")
      }
    }
  }

  /// The number that a query returns; 0 if it returns no row.
  private func number(_ sql: String, _ values: SQLValue...) throws -> Int64 {
    try server.database.read { reader in
      try reader.rows(sql, values: values) { row in try row.integer(0) }.first ?? 0
    }
  }
}
