import Base
import Crypto
import JSON
import Simulation
import TestDevices
import TreeSimulation

/// An app on a device: it writes messages without a network, sends them in order, reads its mailbox, acknowledges, and
/// offers key packages.
final class MailboxPhone {
  /// Why a phone is not up to date for now.
  enum Pause: String, Error {
    /// An answer is missing.
    case interrupted
    /// There is no room for what it sends.
    case full
    /// Its key was revoked.
    case removed
  }

  let device: TestDevice
  let account: Identifier
  private unowned let story: MailboxStory
  private(set) var unsent: [Message] = []
  /// Who takes what was sent, by the server's word.
  private(set) var accepted: [Identifier: [Key]] = [:]
  /// Who did not read it in time, by the server's word.
  private(set) var missed: [Identifier: Set<Key>] = [:]
  /// The numbers under which each message came.
  private(set) var read: [MailboxModel.Name: Set<Int64>] = [:]
  /// What waits for its acknowledgement, by the last reading.
  private var waiting: [Int64] = []
  /// The place of the last new message of each device.
  private var places: [Key: UInt64] = [:]
  private var unanswered: (offer: Offer, made: Instant)?
  /// The packages of its last offer.
  private var offered: (packages: [[UInt8]], made: Instant)?
  private var writtenCount: UInt64 = 0

  /// A phone does not offer again what is older. It may have been given, and the server forgets what was given.
  private static let offerSpan = Instant.Span.hours(20)

  init(_ story: MailboxStory, _ device: TestDevice, _ account: Identifier) {
    (self.story, self.device, self.account) = (story, device, account)
  }

  var key: Key { device.key.publicKey.bytes }

  /// Writes a message. Its body begins with its place among those of the phone.
  func write(_ id: Identifier, to receivers: [Key], padding: Int) {
    writtenCount += 1
    let place = (0..<8).map { UInt8(truncatingIfNeeded: writtenCount >> (56 - 8 * $0)) }
    unsent.append(
      Message(
        id: id, receivers: receivers, body: place + [UInt8](repeating: 0, count: padding)))
  }

  // MARK: The loop

  /// Nil once everything is sent, read and acknowledged.
  func keepUp() throws -> Pause? {
    do {
      if story.chance(50) { try send() }
      let left = try readAll()
      try acknowledge()
      try offer(left)
      try send()
      return nil
    } catch let pause as Pause { return pause }
  }

  private func ask(_ act: MailboxAct) throws -> Answer {
    guard let answer = try story.ask(act, self) else { throw Pause.interrupted }
    if answer.status == 401 { throw Pause.removed }
    return answer
  }

  /// The next one goes only once there is an answer to the one before.
  private func send() throws {
    while let message = unsent.first {
      let answer = try ask(.send(message))
      switch answer.status {
      case 200:
        let refused = try Refused.list(answer.json["refused"]).map(\.key)
        accepted[message.id] = message.receivers.filter { !refused.contains($0) }
      case 422: break
      case 409:
        // The answer was lost for so long that some did not get it in time.
        guard try answer.problem == "message_expired" else {
          throw Mismatch("a message: \(UnexpectedAnswer(answer))")
        }
      case 507: throw Pause.full
      default: throw Mismatch("a message: \(UnexpectedAnswer(answer))")
      }
      unsent.removeFirst()
    }
  }

  /// Returns how many key packages are left, and whether there is a last resort.
  private func readAll() throws -> (count: Int64, hasLastResort: Bool) {
    waiting = []
    var next: Int64 = 0
    while true {
      let page = try ask(.read(after: next, limit: story.pageLimit())).json
      for message in page["messages"].array ?? [] { try take(message) }
      guard let number = page["next"].integer else {
        return (page["key_packages"].integer ?? 0, page["last_resort"].bool ?? false)
      }
      next = number
    }
  }

  private func take(_ message: JSON) throws {
    guard let number = message["number"].integer, let id = message["id"].identifier,
      let sender = message["device"].base64
    else { throw Mismatch("a message has no number, id or device") }
    waiting.append(number)
    if message["kind"].string == "expired" {
      missed[id, default: []].formUnion((message["devices"].array ?? []).compactMap(\.base64))
      return
    }
    let name = MailboxModel.Name(sender: sender, id: id)
    let isNew = read[name] == nil
    read[name, default: []].insert(number)
    guard read[name]?.count ?? 0 <= story.model.storedCounts[name] ?? 0 else {
      throw Mismatch("a message of \(id) comes twice")
    }
    let place = (message["body"].base64 ?? []).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    guard isNew else { return }
    guard place > places[sender] ?? 0 else {
      throw Mismatch("a message comes after a later one of its device")
    }
    places[sender] = place
  }

  /// In any order, and some later.
  private func acknowledge() throws {
    for number in story.shuffled(waiting) where story.rough.isCalm || story.chance(80) {
      let answer = try ask(
        .acknowledge(number, error: story.chance(10) ? "epoch_unknown" : nil))
      guard answer.status == 204 else {
        throw Mismatch("an acknowledgement: \(UnexpectedAnswer(answer))")
      }
      waiting.removeAll { $0 == number }
    }
  }

  private func offer(_ left: (count: Int64, hasLastResort: Bool)) throws {
    if let made = unanswered?.made, story.now - made > Self.offerSpan { unanswered = nil }
    if unanswered == nil {
      guard left.count < 3 || story.chance(5) else { return }
      let count = story.chance(10) ? 60 : story.number(1...4)
      let isFresh = offered.map { story.now - $0.made < Self.offerSpan } ?? false
      let again = (offered?.packages ?? []).suffix(isFresh && story.chance(30) ? 2 : 0)
      let new = (0..<count).map { _ in story.keyPackage(of: key) }
      let hasLastResort = left.hasLastResort ? story.chance(10) : story.chance(50)
      unanswered = (
        Offer(
          packages: again + new, lastResort: hasLastResort ? story.keyPackage(of: key) : nil),
        story.now
      )
      offered = (new, story.now)
    }
    guard let offer = unanswered?.offer else { return }
    let answer = try ask(.offer(offer))
    if answer.status == 507 { throw Pause.full }
    unanswered = nil
  }
}

extension Refused {
  /// Reads those that an answer names.
  static func list(_ json: JSON) -> [Refused] {
    (json.array ?? []).compactMap { item in
      guard let key = item["key"].base64, let reason = item["reason"].string else { return nil }
      return Refused(key: key, reason: reason)
    }
  }
}
