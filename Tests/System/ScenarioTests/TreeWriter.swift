import Base
import Crypto
import Glibc
import JSON
import SeededRandom
import TestDevices

/// A device that changes and shares whatever its account sees, at random, together with many others.
///
/// It acts on what it last pulled, so many of its requests are refused as stale. Acknowledged changes go into
/// the history.
final class TreeWriter: Sendable {
  let device: TestDevice
  private let history: TreeHistory
  private let others: [Identifier]
  private let state: Locked<State>

  private struct State {
    var random: SeededGenerator
    var replica: Replica
    var trouble: [String] = []
  }

  /// Few names, so that they collide.
  private static let names: [[UInt8]] = (0..<16).map { [UInt8](repeating: $0, count: 32) }
  private static let contentByteCountMax = 600_000
  /// Answers that a client can get when others were faster.
  private static let expected: Set = [200, 403, 404, 409, 410, 412, 422, 507]

  /// `others` are the accounts with which it shares.
  init(_ device: TestDevice, others: [Identifier], history: TreeHistory, seed: UInt64) {
    self.device = device
    self.others = others
    self.history = history
    state = Locked(State(random: SeededGenerator(seed: seed), replica: Replica(device)))
  }

  /// Answers that no device should get.
  var trouble: [String] { state.withLock { $0.trouble + $0.replica.troubles } }

  func run(times count: Int) {
    state.withLock { state in
      for step in 0..<count where state.trouble.isEmpty {
        do {
          if step.isMultiple(of: 3) { try state.replica.pull(limit: .random(in: 20...200)) }
          try act(&state)
        } catch {
          state.trouble.append("\(error)")
        }
      }
    }
  }

  private func act(_ state: inout State) throws {
    switch Int.random(in: 0..<15, using: &state.random) {
    case 0..<3: try create(&state)
    case 3..<6: try change(&state)
    case 6: try swap(&state)
    case 7: try replace(&state)
    case 8: try delete(&state)
    case 9..<11: try write(&state)
    case 11: try grant(&state)
    case 12: try revoke(&state)
    case 13: try createTwo(&state)
    default: try answer(&state)
    }
  }

  // MARK: Files

  private func create(_ state: inout State) throws {
    guard let folder = folder(&state, of: nil) else { return }
    let type = Bool.random(using: &state.random) ? "folder" : "document"
    try send([try creation(type, in: folder, name: name(&state))], &state)
  }

  /// Creates two files in one batch, often of two owners, whose rows are then held together.
  private func createTwo(_ state: inout State) throws {
    guard let one = folder(&state, of: nil), let other = folder(&state, of: nil) else { return }
    try send(
      [
        try creation("document", in: one, name: name(&state)),
        try creation("folder", in: other, name: name(&state)),
      ], &state)
  }

  /// Renames or moves a file.
  private func change(_ state: inout State) throws {
    guard let file = file(&state), let folder = folder(&state, of: file.owner) else { return }
    let isMove = Bool.random(using: &state.random)
    let hmac = name(&state)
    try send(
      [file.change { if isMove { $0.parent = folder.id } else { $0.name.hmac = hmac } }], &state)
  }

  private func swap(_ state: inout State) throws {
    guard let one = file(&state),
      let other = state.replica.children(of: one.parent).filter({ $0.id != one.id })
        .randomElement(using: &state.random),
      let names = one.name.flatMap({ one in other.name.map { (one, $0) } })
    else { return }
    try send(
      [one.change { $0.name = names.1 }, other.change { $0.name = names.0 }], &state)
  }

  /// Moves a file away and puts a new one with its name in its place.
  private func replace(_ state: inout State) throws {
    guard let file = file(&state), let name = file.name,
      let folder = folder(&state, of: file.owner), let place = state.replica.tree[file.parent]
    else { return }
    try send(
      [
        file.change { $0.parent = folder.id },
        try creation("document", in: place, name: name.hmac),
      ], &state)
  }

  private func delete(_ state: inout State) throws {
    guard let file = file(&state) else { return }
    try send([file.change { $0.deleted = true }], &state)
  }

  private func write(_ state: inout State) throws {
    let documents = state.replica.tree.values.filter { $0.type == "document" }
    guard let file = Self.pick(documents, &state.random) else { return }
    let count = Int.random(in: 0...Self.contentByteCountMax, using: &state.random)
    let content = [UInt8](repeating: UInt8(truncatingIfNeeded: count), count: count)
    let request = device.sign(
      "PUT", "/v1/files/\(file.id)/content", body: content, headers: [("If-Match", "*")])
    _ = try send(request, &state)
  }

  // MARK: Shares

  private func grant(_ state: inout State) throws {
    let own = try device.account
    let folders = state.replica.tree.values.filter {
      $0.type != "link" && !$0.isRoot && $0.owner == own
    }
    guard let file = Self.pick(folders, &state.random),
      let account = others.randomElement(using: &state.random)
    else { return }
    let current = file.shares.first { $0.account == account }
    let mode = Bool.random(using: &state.random) ? "read" : "write"
    let share = ShareChange.grant(
      file.id, to: account, mode: mode, key: Random.bytes(48), expect: current?.state ?? "new")
    try send(share, &state)
  }

  private func revoke(_ state: inout State) throws {
    let own = try device.account
    let shares = state.replica.tree.values.filter { $0.owner == own }
      .flatMap(\.shares).sorted { ($0.file, $0.account) < ($1.file, $1.account) }
    guard let share = shares.randomElement(using: &state.random) else { return }
    let statement = ShareStatement(file: share.file, account: share.account, state: .revoked)
    try send(ShareChange(expect: share.state, statement), &state)
  }

  /// Accepts or rejects an invitation.
  private func answer(_ state: inout State) throws {
    let pending = state.replica.shares.values.filter { $0.state == "pending" }
      .sorted { $0.file < $1.file }
    guard let share = pending.randomElement(using: &state.random) else { return }
    guard Int.random(in: 0..<4, using: &state.random) > 0 else {
      let statement = ShareStatement(file: share.file, account: share.account, state: .rejected)
      return try send(ShareChange(expect: share.state, statement), &state)
    }
    guard let folder = folder(&state, of: try device.account) else { return }
    let link = try device.creation(
      "link", parent: folder.id, hmac: name(&state), target: share.file)
    try send([link], &state)
  }

  // MARK: Choosing

  private static func pick(
    _ records: [SeenRecord], _ random: inout SeededGenerator
  ) -> SeenRecord? {
    // A dictionary has no order that a seed could repeat.
    records.sorted { $0.id < $1.id }.randomElement(using: &random)
  }

  private func file(_ state: inout State) -> SeenRecord? {
    Self.pick(state.replica.tree.values.filter { !$0.isRoot }, &state.random)
  }

  private func folder(_ state: inout State, of owner: Identifier?) -> SeenRecord? {
    let folders = state.replica.tree.values.filter {
      $0.type == "folder" && (owner == nil || $0.owner == owner)
    }
    return Self.pick(folders, &state.random)
  }

  private func name(_ state: inout State) -> [UInt8] {
    Self.names.randomElement(using: &state.random) ?? []
  }

  private func creation(
    _ type: String, in folder: SeenRecord, name: [UInt8]
  ) throws -> FileChange {
    try device.creation(type, parent: folder.id, owner: folder.owner, hmac: name)
  }

  // MARK: Sending

  private func send(_ files: [FileChange], _ state: inout State) throws {
    let body = device.batchBody(files: files).encoded()
    let answer = try send(device.sign("POST", "/v1/files", body: body), &state)
    if answer.status == 200 { try history.note(files, answer) }
  }

  private func send(_ share: ShareChange, _ state: inout State) throws {
    let body = device.batchBody(shares: [share]).encoded()
    _ = try send(device.sign("POST", "/v1/files", body: body), &state)
  }

  /// A few clients never get the answer that the server is busy.
  private func send(_ request: TestDevice.Signed, _ state: inout State) throws -> Answer {
    let answer = try device.send(request)
    if !Self.expected.contains(answer.status) {
      state.trouble.append("\(request.method) \(request.target): \(UnexpectedAnswer(answer))")
    }
    return answer
  }
}
