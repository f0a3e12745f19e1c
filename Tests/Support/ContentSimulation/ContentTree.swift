import Base
import JSON
import SeededRandom
import TestDevices
import Tiers
import TreeSimulation

/// Steps that change the tree, the trash and what an owner may keep.
extension ContentStory {
  func create() throws {
    let person = people[number(0...1)]
    let folders = model.order.filter { id in
      model.nodes[id]?.isFolder == true && model.isLive(id)
        && model.mayWrite(person.account, id) == true
    }
    guard let parent = folders.randomElement(using: &random), let node = model.nodes[parent],
      model.chain(parent).count < 6
    else { return }
    let isFolder = chance(25)
    let change = try person.device.creation(
      isFolder ? "folder" : "document", parent: parent, owner: node.owner, id: identifier())
    let expected =
      model.lack(node.owner, ContentModel.fee, ContentModel.fee, 0)
      ?? (model.fits(ContentModel.fee, in: parent) ? 200 : 507)
    let body = person.device.batchBody(files: [change]).encoded()
    let answer = try send(person.device.sign("POST", "/v1/files", body: body), person.device)
    try require(answer, expected, "creating in \(parent)")
    guard expected == 200 else { return }
    model.add(change.file.id, .init(owner: node.owner, parent: parent, isFolder: isFolder))
  }

  func delete() throws {
    let person = people[number(0...1)]
    let found = model.order.filter { id in
      guard let node = model.nodes[id], node.parent != id, id != model.shared else { return false }
      return model.isLive(id) && model.mayWrite(person.account, id) == true
    }
    guard let id = found.randomElement(using: &random), let node = model.nodes[id] else { return }
    let change = try person.device.record(id).change { $0.deleted = true }
    let body = person.device.batchBody(files: [change]).encoded()
    let answer = try send(person.device.sign("POST", "/v1/files", body: body), person.device)
    try require(answer, 200, "deleting \(id)")
    if model.accounts[node.owner]?.plan.limits.trashDays ?? 0 > 0 {
      model.nodes[id]?.place = .trashed(id)
      model.trash[id] = .init(deleted: server.now)
    } else {
      model.drop(id, at: server.now)
      model.trash[id]?.state = .purging
    }
  }

  func changeTrash() throws {
    guard let root = model.trash.keys.sorted().randomElement(using: &random),
      let entry = model.trash[root], let node = model.nodes[root],
      let owner = people.first(where: { $0.account == node.owner })
    else { return }
    // A sharee's deletion went to the owner's trash alone.
    let person = chance(85) ? owner : people[2]
    let isRestore = chance(70)
    let request =
      isRestore
      ? person.device.sign("POST", "/v1/trash/\(root)/restore", body: [])
      : person.device.sign("DELETE", "/v1/trash/\(root)")
    let isMarking = try ContentRows(server.database).marking.contains(root)
    let isBusy = entry.state != .kept || isMarking
    let isBack = node.place == .live
    let expected =
      person.account != node.owner
      ? 404 : !isRestore ? 204 : isBusy || !(isBack || model.isLive(node.parent)) ? 409 : 200
    try require(try send(request, person.device), expected, "trash of \(root)")
    guard expected < 300 else { return }
    model.trash[root]?.state = isRestore ? .restoring : .purging
    if isRestore { model.nodes[root]?.place = .live }
  }

  /// The owner's plan, cap or choice, what a folder may hold, or what a sharee may do.
  func changeTerms() throws {
    let person = people[number(0...1)]
    switch number(1...14) {
    case ...5:
      try changePlan(
        of: person.account, to: Self.plans[number(0...2)],
        cap: [80_000, 300_000, 600_000][number(0...2)] * (isLarge ? 40 : 1))
    case ...9: try capFolder()
    case ...11:
      let purges = chance(50)
      let body = JSONValue.object([.init("when_full", .string(purges ? "purge" : "keep"))])
      let request = person.device.sign("PUT", "/v1/account/history", body: body.encoded())
      try require(try send(request, person.device), 204, "choosing")
      model.accounts[person.account]?.purges = purges
    default:
      guard let shared = model.shared else { return }
      let (owner, sharee, mayWrite) = (people[0].device, people[1].account, chance(60))
      let state = ShareStatement.State.granted(
        mode: mayWrite ? "write" : "read", key: random.bytes(count: 20))
      let change = ShareChange(
        expect: "accepted", ShareStatement(file: shared, account: sharee, state: state))
      let body = owner.batchBody(shares: [change]).encoded()
      try require(try send(owner.sign("POST", "/v1/files", body: body), owner), 200, "granting")
      model.sharees[sharee] = mayWrite
    }
  }

  private func changePlan(of account: Identifier, to plan: Plan, cap: Int64) throws {
    guard let held = model.accounts[account] else { return }
    // One that ended as it began was never had.
    if held.planSince < server.now {
      try server.endPlan(held.plan.id, of: account, since: held.planSince)
      model.accounts[account]?.former.append((held.plan.limits, server.now))
    }
    try server.setCap(account, cap, plan: plan.id)
    model.accounts[account]?.cap = cap
    model.accounts[account]?.plan = plan
    model.accounts[account]?.planSince = server.now
    note("plan \(plan.id) with \(cap)")
  }

  private func capFolder() throws {
    let owner = people[0]
    let folders = model.order.filter { id in
      guard let node = model.nodes[id], node.isFolder, node.owner == owner.account else {
        return false
      }
      return model.isLive(id)
    }
    guard let any = folders.randomElement(using: &random) else { return }
    let folder = chance(40) ? model.shared ?? any : any
    let caps: [Int64] = [20_000, 100_000, 300_000]
    let cap = chance(25) ? nil : caps[number(0...2)] * (isLarge ? 40 : 1)
    let body = JSONValue.object([.init("bytes", cap.map { .integer($0) } ?? .null)])
    let request = owner.device.sign("PUT", "/v1/files/\(folder)/cap", body: body.encoded())
    try require(try send(request, owner.device), 200, "capping \(folder)")
    model.caps[folder] = cap
  }
}
