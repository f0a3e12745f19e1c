import Base
import JSON
import NaiveTries
import Simulation
import TestDevices

/// An app on a device that keeps up with one log: it appends what is unsent, reads on, and compares.
///
/// Its state is a set of edits. An edit of its own that the log's state lacks is unsent, whatever happened to the log.
final class LogClient {
  enum Way: CaseIterable {
    /// By cursors, and by the whole trie where the hashes differ.
    case arrival
    /// By timestamps and the pruned trie, as clients of Actual do.
    case timestamps
  }

  /// Why a client is not up to date for now.
  enum Pause: String, Error {
    /// An answer is missing.
    case interrupted
    /// Its clock is too far behind.
    case behind
    /// The server takes nothing of what is unsent.
    case refused
    /// The log is deleted.
    case ended
    /// The log has begun another epoch. It is followed at once.
    case epochChanged
  }

  let device: TestDevice
  let account: Identifier
  let log: Identifier
  let way: Way
  private unowned let story: LogStory
  private(set) var clock: HybridClock
  /// Nil until the client has read the log, and its snapshot if there is one.
  private(set) var epoch: Identifier?
  private(set) var cursor: String?
  /// By timestamps: up to where everything has been compared.
  private var compared: Stamp?
  /// The epoch's messages that it has: their edits.
  private(set) var messages: [Stamp: UInt64] = [:]
  private(set) var edits: Set<UInt64> = []
  private(set) var unsent: [Message] = []
  private(set) var own: [UInt64: Message] = [:]

  private static let roundCountMax = 60
  private static let batchCountMax = 40
  private static let batchByteCountMax = 600_000

  init(
    _ story: LogStory, _ device: TestDevice, _ account: Identifier, _ log: Identifier, _ way: Way,
    _ clock: HybridClock
  ) {
    (self.story, self.device, self.account) = (story, device, account)
    (self.log, self.way, self.clock) = (log, way, clock)
  }

  /// A device that was copied with everything, its node included.
  init(copy other: LogClient) {
    (story, device, account) = (other.story, other.device, other.account)
    (log, way, clock) = (other.log, other.way, other.clock)
    (epoch, cursor, compared) = (other.epoch, other.cursor, other.compared)
    (messages, edits) = (other.messages, other.edits)
    (unsent, own) = (other.unsent, other.own)
  }

  private func ask(_ act: Act) throws -> Answer {
    guard let answer = try story.ask(act, self) else { throw Pause.interrupted }
    switch try answer.problem {
    case "log_not_found": throw Pause.ended
    case "epoch_changed": throw Pause.epochChanged
    default: return answer
    }
  }

  // MARK: What happens on the device

  func write(_ edit: UInt64, padding: [UInt8]) {
    guard let stamp = clock.stamp(at: story.now) else { return }
    let message = Message(stamp, Message.bytes(of: edit) + padding)
    unsent.append(message)
    own[edit] = message
  }

  /// A person sets the clock. What no one took is stamped again.
  func setClock(ahead offset: Instant.Span) {
    clock.set(offset, after: messages.keys.max())
    _ = restamp { _ in true }
  }

  /// Messages are lost on the device, and it does not know which.
  func forget(_ count: Int) {
    for stamp in messages.keys.sorted().shuffled(using: &story.random).prefix(count) {
      if let edit = messages.removeValue(forKey: stamp) { edits.remove(edit) }
    }
  }

  /// The account may append no more. What it appended is others' now.
  func giveUp() -> Set<UInt64> {
    defer { (unsent, own) = ([], [:]) }
    return Set(own.keys)
  }

  /// Gives unsent messages new timestamps. Returns false if the clock allows none.
  private func restamp(where condition: (Message) -> Bool) -> Bool {
    for (index, message) in unsent.enumerated() where condition(message) {
      guard let stamp = clock.stamp(at: story.now) else { return false }
      unsent[index] = Message(stamp, message.content)
      own[message.edit] = unsent[index]
    }
    return true
  }

  // MARK: The loop

  /// Nil once the client agrees with the server.
  func keepUp() throws -> Pause? {
    for _ in 0..<Self.roundCountMax {
      do {
        if epoch == nil { try follow() }
        let isRefused = try !sendUnsent()
        try readOn()
        unsent.removeAll { edits.contains($0.edit) }
        if !isRefused, addLacking() { continue }
        guard try isEqual() else { continue }
        return isRefused ? .refused : nil
      } catch Pause.epochChanged {
        epoch = nil
      } catch let pause as Pause {
        return pause
      }
    }
    throw Mismatch("a client of \(log) never agrees with the server")
  }

  /// Reads the log, and takes its snapshot in.
  private func follow() throws {
    let json = try ask(.log).json
    var (edits, cursor) = (Set<UInt64>(), String?.none)
    if json["snapshot"].exists, !json["snapshot"].isNull {
      let answer = try ask(.snapshot)
      guard answer.header("etag") == json["snapshot"]["version"].integer.map({ "\"\($0)\"" }) else {
        // It was replaced in between.
        throw Pause.interrupted
      }
      for start in stride(from: 0, to: answer.body.count, by: Message.editByteCount) {
        edits.insert(Message.edit(answer.body[start...]))
      }
      cursor = json["snapshot"]["covers"].string
    }
    (self.edits, self.cursor) = (edits, cursor)
    (messages, compared) = ([:], nil)
    epoch = json["epoch"].identifier
  }

  /// Returns false if the server takes nothing more for now.
  private func sendUnsent() throws -> Bool {
    while let epoch, !unsent.isEmpty {
      var (batch, byteCount) = ([Message](), 0)
      for message in unsent.prefix(Self.batchCountMax) {
        byteCount += message.content.count
        guard batch.isEmpty || byteCount <= Self.batchByteCountMax else { break }
        batch.append(message)
      }
      let answer = try ask(.append(epoch: epoch, batch))
      let json = try answer.json
      switch try answer.problem {
      case nil:
        let different = Set((json["different"].array ?? []).compactMap(\.string))
        for message in batch where !different.contains(message.stamp.text) {
          messages[message.stamp] = message.edit
          edits.insert(message.edit)
        }
        unsent.removeAll { edits.contains($0.edit) }
        guard restamp(where: { different.contains($0.stamp.text) }) else { return false }
      case "before_horizon":
        guard let horizon = json["horizon"].string.flatMap({ Stamp($0) }),
          clock.receive(horizon, at: story.now), restamp(where: { $0.stamp <= horizon })
        else { return false }
      case "timestamp_ahead", "over_cap": return false
      case "not_permitted": story.depart(self)
      default: throw UnexpectedAnswer(answer)
      }
    }
    return true
  }

  private func readOn() throws {
    switch way {
    case .timestamps: try exchangeDifferences()
    case .arrival:
      var hasMore = true
      while hasMore {
        let json = try page(.after(cursor, limit: story.pageLimit()))
        cursor = json["cursor"].string
        hasMore = json["more"].bool == true
      }
    }
  }

  /// Takes in a page of this epoch.
  private func page(_ act: Act) throws -> JSON {
    let json = try ask(act).json
    guard json["epoch"].identifier == epoch else { throw Pause.epochChanged }
    for message in (json["messages"].array ?? []).compactMap({ Message($0) }) {
      guard clock.receive(message.stamp, at: story.now) else { throw Pause.behind }
      messages[message.stamp] = message.edit
      edits.insert(message.edit)
    }
    return json
  }

  /// Reads everything above a timestamp, and returns the last page.
  private func read(since start: Stamp) throws -> JSON {
    var since = start
    while true {
      let json = try page(.since(since, limit: story.pageLimit()))
      guard json["more"].bool == true,
        let last = (json["messages"].array ?? []).compactMap({ Message($0) }).last
      else { return json }
      since = last.stamp
    }
  }

  /// After each exchange both have the same from that minute on, so the next one is earlier.
  private func exchangeDifferences() throws {
    var (since, last) = (compared ?? Stamp(startOf: 0), Int64.max)
    while true {
      let theirs = NaiveTrie(try read(since: since)["trie"])
      let mine = story.hashes.trie(messages.keys).pruned()
      guard let minute = mine.difference(from: theirs) else { break }
      guard minute < last else {
        throw Mismatch("a client of \(log) is out of sync from minute \(minute) on")
      }
      (since, last) = (Stamp(startOf: minute), minute)
    }
    compared = messages.keys.max()
  }

  /// Makes edits of its own unsent that the log's state lacks. Returns whether there are any.
  private func addLacking() -> Bool {
    let known = edits.union(unsent.map(\.edit))
    let lacking = own.keys.sorted().filter { !known.contains($0) }
    unsent += lacking.compactMap { own[$0] }
    return !lacking.isEmpty
  }

  /// Compares with the whole trie. If it differs, the client reads what it lacks, and has to compare again.
  private func isEqual() throws -> Bool {
    guard way == .arrival else { return true }
    let json = try ask(.log).json
    guard json["epoch"].identifier == epoch else { throw Pause.epochChanged }
    guard json["root"].integer != Int64(story.hashes.root(messages.keys)) else { return true }
    var path = ""
    while true {
      let theirs = try children(of: path)
      let mine = story.hashes.children(messages.keys, of: path)
      let digits: [String] = Set(theirs.keys).union(mine.keys).sorted()
      guard let digit = digits.first(where: { theirs[$0] != mine[$0] }) else { break }
      path += digit
    }
    guard let minute = Int64(path, radix: 3) else {
      throw Mismatch("the roots of \(log) differ, and no node below does")
    }
    _ = try read(since: Stamp(startOf: minute))
    return false
  }

  private func children(of path: String) throws -> [String: Int32] {
    let members = try ask(.children(path)).json["children"].members ?? []
    return members.reduce(into: [:]) { children, member in
      children[member.name] = member.value.integer.map { Int32(truncatingIfNeeded: $0) }
    }
  }

  // MARK: Shortening the log

  /// Stores what the client has as the log's snapshot. Returns the cursor that it covers; nil if that failed.
  func storeSnapshot() throws -> String? {
    guard way == .arrival, unsent.isEmpty, !edits.isEmpty, let cursor else { return nil }
    do {
      let json = try ask(.log).json
      let bytes = edits.sorted().flatMap { Message.bytes(of: $0) }
      let version = json["snapshot"]["version"].integer ?? 0
      let answer = try ask(.putSnapshot(bytes, covers: cursor, version: version))
      return answer.status == 200 ? cursor : nil
    } catch is Pause {
      return nil
    }
  }

  func beginEpoch(covering cursor: String) throws {
    do { _ = try ask(.beginEpoch(covers: cursor)) } catch is Pause {}
  }
}
