import Base
import Crypto
import JSON
import SeededRandom
import Simulation
import Sync
import TestDevices
package import TestEngines

/// A seeded story of three accounts with two devices each, played on the server and in the model.
package final class Story {
  private struct Person {
    let device: TestDevice
    let account: Identifier
    var replica: Replica
  }

  private let server: TreeServer
  private var books: Books { Books(database: server.database) }
  private let weather: Weather?
  private var model: TreeModel
  private var people: [Person] = []
  private var random: SeededGenerator
  /// The number of batches that had an effect. A story in which nothing happens proves nothing.
  package private(set) var acceptedCount = 0
  package private(set) var batchCount = 0

  private static let recordCountMaxima: [Int64] = [120, 500]
  private static let caps: [Int64] = [60_000, 300_000, 600_000]
  private let caps: [Int64]
  private let isCrowded: Bool

  /// With a crowd, the first account has a folder with `crowd` documents in it, so that changes of the folder
  /// are too large to be reported file by file. In `weather`, anything that can fail does.
  package init(
    _ engine: TestEngine, seed: UInt64, crowd: Int = 0, weather: Weather? = nil
  ) throws {
    random = SeededGenerator(seed: seed)
    self.weather = weather
    let recordCountMax =
      Self.recordCountMaxima[Int.random(in: 0...1, using: &random)] + Int64(crowd)
    isCrowded = crowd > 0
    caps = Self.caps.map { $0 + Int64(crowd) * TreeModel.feeByteCount }
    server = try TreeServer(engine, freeByteCount: caps[1], recordCountMax: recordCountMax)
    model = TreeModel(recordCountMax: recordCountMax)
    for _ in 0..<3 {
      let first = try server.register(root: Identifier(high: random.next(), low: random.next()))
      let account = try first.account
      model.open(account, root: first.root, cap: caps[1])
      for device in [first, try server.add(to: first)] {
        people.append(Person(device: device, account: account, replica: Replica(device)))
      }
    }
    if crowd > 0 { try gather(crowd, people[0]) }
  }

  private func gather(_ count: Int, _ person: Person) throws {
    func creation(_ type: String, in parent: Identifier) -> FileChange {
      let id = Identifier(high: random.next(), low: random.next())
      return FileChange(
        FileStatement(
          id: id, owner: person.account, parent: parent, type: type,
          name: .init(ciphertext: [1], hmac: random.bytes(count: 32)), key: [1]))
    }
    let folder = creation("folder", in: person.device.root)
    let documents = (0..<count).map { _ in creation("document", in: folder.file.id) }
    var waiting = ([folder] + documents)[...]
    while !waiting.isEmpty {
      let answer = try person.device.batch(files: Array(waiting.prefix(500)))
      guard answer.status == 200 else { throw UnexpectedAnswer(answer) }
      waiting = waiting.dropFirst(500)
    }
    model.fill(
      folder.file, with: documents.map(\.file), author: person.device.key.publicKey.bytes)
  }

  package func tell(stepCount: Int) throws {
    try takeSteps(stepCount) { step in
      weather?.log.write(server.now, "step \(step)")
      try weather?.crash(server)
      try self.step()
      if step % 60 == 0 { try settleBooks() }
    } end: {
      try end()
    }
  }

  private func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  private func step() throws {
    let person = number(0...people.count - 1)
    switch number(1...100) {
    case ...55: try change(people[person])
    case ...68: try write(people[person])
    case ...73: try read(people[person])
    case ...80: try sweepSlice()
    case ...82: server.advance(.seconds(Int64(number(-60...300))))
    case ...83:
      server.advance(.minutes(11))
      try server.sweeper.sweep()
    case ...84:
      let cap = caps[number(0...caps.count - 1)]
      try server.setCap(people[person].account, cap)
      model.caps[people[person].account] = cap
    case ...86:
      // A new client knows nothing.
      people[person].replica = Replica(people[person].device)
    default: try pull(person)
    }
  }

  // MARK: Changes

  private func change(_ person: Person) throws {
    let author = person.device.key.publicKey.bytes
    var chooser = Chooser(random, by: person.account, author: author, model)
    let (files, shares) = chooser.batch()
    random = chooser.random
    guard !files.isEmpty || !shares.isEmpty else { return }
    let (verdict, after) = model.judge(
      files: files, shares: shares, by: person.account, author: author)
    let body = person.device.batchBody(files: files, shares: shares)
    let request = person.device.sign("POST", "/v1/files", body: body.encoded())
    let answer = try send(request, person)
    let isAllowed = verdict.allows(
      status: answer.status, code: try answer.problem, failures: try answer.failures)
    guard isAllowed else {
      throw Mismatch(
        "\(verdict) expected, got \(answer.status) "
          + "\(String(decoding: answer.body, as: UTF8.self)) for "
          + String(decoding: body.encoded(), as: UTF8.self))
    }
    batchCount += 1
    if case .accepted = verdict {
      acceptedCount += 1
      model = after
      try requireAnswer(answer, files, shares)
      // The answer was lost. The same request has one effect, and gets the same answer.
      if number(1...20) == 1, try sendAgain(request, person).body != answer.body {
        throw Mismatch("a repeated request was answered otherwise")
      }
    }
  }

  /// In bad weather the disk may be full at the first attempt. That changes nothing, and the same request is
  /// sent again.
  private func send(_ request: TestDevice.Signed, _ person: Person) throws -> Answer {
    let isRefused = try weather?.isRefusedByFullDisk(server) {
      let answer = try person.device.send(request)
      return (answer.status, try answer.problem)
    }
    let answer = try person.device.send(request)
    weather?.log.write(
      server.now,
      "\(request.method) \(request.target): \(answer.status) "
        + "\(try answer.rules.joined(separator: " "))\(isRefused == true ? " at the second try" : "")"
    )
    return answer
  }

  private func sendAgain(_ request: TestDevice.Signed, _ person: Person) throws -> Answer {
    try weather?.crash(server, likely: true)
    weather?.log.write(server.now, "\(request.method) \(request.target) again")
    return try person.device.send(request)
  }

  /// Requires the answer to be in the order of the request, with the states of the shares.
  private func requireAnswer(
    _ answer: Answer, _ files: [FileChange], _ shares: [ShareChange]
  ) throws {
    let json = try answer.json
    let ids = (json["files"].array ?? []).map { $0["id"].string }
    let states = (json["shares"].array ?? []).map { $0["state"].string }
    let expected = shares.map { change in
      model.shares[TreeModel.ShareID(file: change.share.file, account: change.share.account)]?.state
    }
    guard ids == files.map(\.file.id.description), states == expected else {
      throw Mismatch("answered with \(ids) and \(states), not \(expected)")
    }
  }

  private func write(_ person: Person) throws {
    var chooser = Chooser(random, by: person.account, author: [], model)
    let wanted = chooser.file { model, id in
      model.files[id]?.type == "document" && model.role(person.account, id) > .stranger
        && !model.isDeleted(id)
    }
    let id = chooser.chance(80) ? wanted ?? chooser.anyFile() : chooser.anyFile()
    let version = model.files[id]?.contentVersion ?? 0
    let ifMatch = ["\"\(version)\"", "\"\(version)\"", "*", "\"7777777\""][chooser.number(0...3)]
    let byteCount = [0...300, 0...300, 300...3000, 16_000...18_000][chooser.number(0...3)]
    let content = chooser.random.bytes(count: chooser.number(byteCount))
    random = chooser.random
    let expected = model.contentStatus(
      id, person.account, ifMatch: ifMatch, byteCount: content.count)
    let request = person.device.sign(
      "PUT", "/v1/files/\(id)/content", body: content, headers: [("If-Match", ifMatch)])
    let answer = try send(request, person)
    guard answer.status == expected else {
      throw Mismatch(
        "content of \(id): \(expected) expected, got \(UnexpectedAnswer(answer))")
    }
    guard expected == 200, let now = try answer.json["version"].integer, now > version else {
      if expected == 200 { throw UnexpectedAnswer(answer) }
      return
    }
    model.files[id]?.contentVersion = now
    model.files[id]?.content = content
  }

  private func read(_ person: Person) throws {
    let id = model.order[number(0...model.order.count - 1)]
    let isVisible = model.role(person.account, id) > .stranger
    let answer = try person.device.get("/v1/files/\(id)")
    let record = answer.status == 200 ? SeenRecord(try answer.json) : nil
    guard answer.status == (isVisible ? 200 : 404),
      record.map({ isTrue($0, to: person.account, deletion: model.deletion(of: id)) }) != false
    else { throw Mismatch("\(id) read as \(UnexpectedAnswer(answer))") }
    guard let file = model.files[id] else { return }
    let expected =
      !isVisible ? 404 : model.isDeleted(id) ? 410 : file.type == "document" ? 200 : 409
    let content = try person.device.get("/v1/files/\(id)/content")
    guard content.status == expected, expected != 200 || content.holds(file.content) else {
      throw Mismatch("content of \(id): \(expected) expected, got \(content.status)")
    }
  }

  // MARK: The sweep

  private func sweepSlice() throws {
    let count = number(1...8)
    let isWaiting = try server.trees.markDeleted(count: count)
    let marked = try books.marked(since: model)
    let wrong = marked.filter { id, folder in
      folder == nil || folder != model.deletion(above: id)
    }
    guard wrong.isEmpty, marked.count <= count, isWaiting || marked.isEmpty else {
      throw Mismatch("a slice of \(count) marked \(marked), of which wrong: \(wrong)")
    }
    model.mark(marked)
  }

  // MARK: Clients

  private var pageLimit: Int { isCrowded ? 1000 : number(1...7) }

  private func pull(_ person: Int) throws {
    for _ in 0..<number(1...6) {
      try people[person].replica.pullPage(limit: pageLimit)
      if people[person].replica.isComplete { try requireTree(people[person]) }
    }
  }

  /// Right after the last page nothing is missing, and nothing is superfluous.
  private func requireTree(_ person: Person) throws {
    let replica = person.replica
    let known = model.tree(of: person.account)
    // A deletion above what the account sees is reported at the latest by the sweep.
    let live = known.filter { !model.isDeleted($0) }
    let (missing, surplus) = (live.subtracting(replica.ids), replica.ids.subtracting(known))
    let untrue = replica.tree.values.filter { record in
      !isTrue(record, to: person.account, deletion: TreeModel.Deletion())
    }
    guard missing.isEmpty, surplus.isEmpty, untrue.isEmpty, replica.troubles.isEmpty else {
      throw Mismatch(
        "\(person.account) has pulled: missing \(missing), too much \(surplus), "
          + "wrong \(untrue), troubles \(replica.troubles)")
    }
  }

  /// Whether every member of the received record is true.
  private func isTrue(
    _ record: SeenRecord, to account: Identifier, deletion: TreeModel.Deletion
  ) -> Bool {
    guard let file = model.files[record.id] else { return false }
    let isDocument = file.type == "document"
    let shares = model.accounts.filter { account == file.owner || account == $0 }.compactMap {
      sharee in
      model.shares[TreeModel.ShareID(file: record.id, account: sharee)].map { (sharee, $0) }
    }
    let told = Dictionary(
      uniqueKeysWithValues: record.shares.map { share in
        (share.account, TreeModel.Share(mode: share.mode, state: share.state, key: share.key))
      })
    return record.owner == file.owner && record.parent == file.parent && record.type == file.type
      && record.target == file.target && record.name == file.name && record.key == file.key
      && record.author == file.author && record.deleted == deletion.isDeleted
      && record.deletedWith == deletion.with
      && record.contentVersion == (isDocument ? file.contentVersion : nil)
      && record.contentByteCount == (isDocument ? Int64(file.content.count) : nil)
      && record.isSignatureValid != false
      && told == Dictionary(uniqueKeysWithValues: shares)
  }

  private func settleBooks() throws {
    let differences = try books.differences(from: model)
    guard differences.isEmpty else {
      throw Mismatch(differences.joined(separator: "\n"))
    }
  }

  private func end() throws {
    for index in people.indices { try people[index].replica.pullPage(limit: pageLimit) }
    while try server.trees.markDeleted(count: number(1...8)) {}
    model.mark(try books.marked(since: model))
    try settleBooks()
    let unswept = model.order.filter { model.isDeleted($0) && model.files[$0]?.isMarked == false }
    guard unswept.isEmpty else {
      throw Mismatch("swept, but not marked: \(unswept)")
    }
    for index in people.indices {
      try people[index].replica.pull(limit: index == 0 ? pageLimit : 100)
      try requireTree(people[index])
      people[index].replica = Replica(people[index].device)
      try people[index].replica.pull(limit: 50)
      try requireTree(people[index])
    }
  }
}
