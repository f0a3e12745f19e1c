import Base
import JSON
import Simulation
import TestDevices

/// Comparing the program's answers with the model, which follows them.
extension LogStory {
  func judge(_ answer: Answer, to sent: Sent) throws {
    if let first = recorded[sent.number] {
      guard answer.status == first.status, answer.holds(first.body) else {
        throw Mismatch("\(sent.act.name) again: \(UnexpectedAnswer(answer))")
      }
      return
    }
    let refusal = model.refusal(of: sent.act, on: sent.log, by: sent.account, at: now)
    if let refusal {
      guard answer.status == refusal.status, try answer.problem == refusal.problem else {
        throw Mismatch("\(sent.act.name): \(refusal) expected, got \(UnexpectedAnswer(answer))")
      }
      return
    }
    guard 200..<300 ~= answer.status else {
      throw Mismatch("\(sent.act.name): it must be carried out, got \(UnexpectedAnswer(answer))")
    }
    if sent.act.isRecorded { recorded[sent.number] = answer }
    guard try follow(answer, to: sent) else {
      throw Mismatch("\(sent.act.name): the model has something else: \(UnexpectedAnswer(answer))")
    }
  }

  /// Has the model follow a request that was carried out. Returns false if the answer is not what the model has.
  private func follow(_ answer: Answer, to sent: Sent) throws -> Bool {
    let id = sent.log
    if case .delete = sent.act {
      model.delete(id)
      (acknowledged[id], departed[id], promised[id]) = (nil, nil, nil)
      return answer.body.isEmpty
    }
    if case .endShare(let other) = sent.act {
      model.endShare(of: id, with: other)
      return answer.body.isEmpty
    }
    if case .snapshot = sent.act {
      return (model.logs[id]?.current.snapshot).map { answer.holds($0.bytes) } ?? false
    }
    let json = try answer.json
    switch sent.act {
    case .delete, .endShare, .snapshot: return false
    case .grant(let other, let mode):
      model.grant(mode, of: id, to: other)
      return isShare(json, id, other)
    case .accept:
      model.accept(id, by: sent.account)
      return isShare(json, id, sent.account)
    case .create:
      guard let epoch = json["epoch"].identifier else { return false }
      model.create(id, of: sent.account, epoch: epoch)
      return isLog(json, id)
    case .append(_, let batch):
      let count = appendedCount
      let isRight = hasAppended(json, batch, to: id)
      if model.logs[id]?.owner != sent.account { sharedCount += appendedCount - count }
      return isRight
    case .after(let cursor, let limit): return isPage(json, of: id, after: cursor, limit: limit)
    case .since(let stamp, let limit): return isPage(json, of: id, since: stamp, limit: limit)
    case .log:
      let mode = model.logs[id]?.shares[sent.account]?.mode.rawValue
      return isLog(json, id) && json["root"].integer == root(id)
        && json["access"].string == mode ?? "owner"
    case .children(let path):
      let children = hashes.children(stamps(id), of: path)
      let found = json["children"].members ?? []
      return found.map(\.name) == children.keys.sorted()
        && found.allSatisfy { $0.value.integer == Int64(children[$0.name] ?? 0) }
    case .putSnapshot(let bytes, let covers, _):
      let tag = answer.header("etag")?.filter { $0 != "\"" }
      guard let version = tag.flatMap({ Int64($0) }) else { return false }
      model.putSnapshot(bytes, of: id, covering: covers, version: version)
      return isLog(json, id)
    case .beginEpoch(let covers):
      guard let epoch = json["epoch"].identifier, epoch != model.logs[id]?.current.id else {
        return false
      }
      epochCount += 1
      model.beginEpoch(epoch, of: id, covering: covers, at: now)
      return isLog(json, id)
    }
  }

  private func stamps(_ id: Identifier) -> [Stamp] {
    model.logs[id]?.current.messages.map(\.stamp) ?? []
  }

  private func root(_ id: Identifier) -> Int64 { Int64(hashes.root(stamps(id))) }

  private func isLog(_ json: JSON, _ id: Identifier) -> Bool {
    guard let epoch = model.logs[id]?.current else { return false }
    guard json["id"].identifier == id, json["epoch"].identifier == epoch.id else { return false }
    guard json["messages"].integer == Int64(epoch.messages.count),
      json["bytes"].integer == epoch.byteCount, json["horizon"].string == epoch.horizon?.text
    else { return false }
    let found = json["snapshot"]
    guard let snapshot = epoch.snapshot else { return found.isNull }
    // What was stored in an epoch before is what this one begins with.
    let covered = snapshot.epoch == epoch.id ? snapshot.covered : 0
    return found["version"].integer == snapshot.version
      && found["bytes"].integer == Int64(snapshot.bytes.count)
      && found["covers"].string.map { model.note($0, epoch.id, covered) } ?? false
  }

  private func isShare(_ json: JSON, _ id: Identifier, _ account: Identifier) -> Bool {
    guard let share = model.logs[id]?.shares[account] else { return false }
    return json["log"].identifier == id && json["account"].identifier == account
      && json["owner"].identifier == model.logs[id]?.owner
      && json["mode"].string == share.mode.rawValue
      && json["state"].string == (share.isAccepted ? "accepted" : "pending")
  }

  private func hasAppended(_ json: JSON, _ batch: [Message], to id: Identifier) -> Bool {
    let (added, different) = model.append(batch, to: id)
    let refused = Set(different)
    acknowledged[id, default: []].formUnion(
      batch.filter { !refused.contains($0.stamp) }.map(\.edit))
    appendedCount += added
    let named: [String] = (json["different"].array ?? []).compactMap(\.string)
    return json["added"].integer == Int64(added) && named == different.map(\.text)
      && json["messages"].integer == Int64(stamps(id).count) && json["root"].integer == root(id)
  }

  private func isPage(
    _ json: JSON, of id: Identifier, after cursor: String?, limit: Int
  ) -> Bool {
    guard let epoch = model.logs[id]?.current else { return false }
    let start = cursor.flatMap { model.cursors[$0]?.number } ?? 0
    let rest = Array(epoch.messages.dropFirst(start))
    guard json["epoch"].identifier == epoch.id, let count = pageCount(json, of: rest, limit: limit)
    else { return false }
    return json["cursor"].string.map { model.note($0, epoch.id, start + count) } ?? false
  }

  private func isPage(_ json: JSON, of id: Identifier, since: Stamp, limit: Int) -> Bool {
    guard let epoch = model.logs[id]?.current else { return false }
    let rest = epoch.messages.filter { $0.stamp > since }.sorted { $0.stamp < $1.stamp }
    guard json["epoch"].identifier == epoch.id, let count = pageCount(json, of: rest, limit: limit)
    else { return false }
    guard count == rest.count else { return !json["trie"].exists }
    return root(id) == (json["trie"]["hash"].integer ?? 0)
  }

  /// The number of a page's messages, which must be the first of those that are left; nil if they are not.
  private func pageCount(_ json: JSON, of rest: [Message], limit: Int) -> Int? {
    let list = json["messages"].array ?? []
    let found: [Message] = list.compactMap { Message($0) }
    guard found.count == list.count, found.count <= limit,
      found == Array(rest.prefix(found.count)), !found.isEmpty || rest.isEmpty
    else { return nil }
    return json["more"].bool == (found.count < rest.count) ? found.count : nil
  }
}
