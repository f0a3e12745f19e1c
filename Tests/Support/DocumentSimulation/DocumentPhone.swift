import Base
import Crypto
import JSON
import Simulation
import TestDevices

/// An app on a device that merges documents: it edits and deletes them without a network, pushes and pulls.
final class DocumentPhone {
  /// Why a phone is not up to date for now.
  enum Pause: String, Error {
    /// An answer is missing.
    case interrupted
    /// There is no room for what it pushes.
    case full
    /// Its key was revoked.
    case removed
    /// Deletions that it lacks are forgotten. It starts over at once.
    case expired
  }

  let device: TestDevice
  let account: Identifier
  private unowned let story: DocumentStory
  /// Whether it sends only the last of its versions of a document.
  private let isTerse: Bool
  private(set) var documents = Merged()
  private(set) var unpushed: [Version] = []
  /// The edits that it has made.
  private(set) var made: [Identifier: Set<UInt64>] = [:]
  private var counter: Int64 = 0
  private var clock: Clock = [:]
  /// The highest counter of what it has sent, whether it arrived or not.
  private var sent: Int64 = 0
  /// The documents of which the server had a version of the account's own devices.
  private var pushed: Set<Identifier> = []
  /// Those of which it had one of the other account.
  private var received: Set<Identifier> = []
  /// When it last pulled everything.
  private var pulled: Instant?

  /// A phone pulls before it pushes if it was away for longer, because a deletion may be forgotten by then.
  private static let awaySpan = Instant.Span.days(60)

  /// What a phone knows of documents: of each the versions that no other covers, unless it was deleted.
  struct Merged {
    private(set) var versions: [Identifier: [Version]] = [:]
    private(set) var deleted: Set<Identifier> = []

    mutating func take(_ version: Version) {
      let (document, known) = (version.document, versions[version.document] ?? [])
      guard !deleted.contains(document) else { return }
      guard !version.isDeletion else { return end(document) }
      let place = DocumentModel.Place(version)
      let isKnown = known.contains {
        DocumentModel.Place($0) == place || version.isCovered(by: $0.clock)
      }
      guard !isKnown else { return }
      versions[document] = known.filter { !$0.isCovered(by: version.clock) } + [version]
    }

    mutating func end(_ document: Identifier) {
      versions[document] = nil
      deleted.insert(document)
    }

    /// Forgets the versions, and keeps what was deleted.
    mutating func startOver() { versions = [:] }

    var edits: [Identifier: Set<UInt64>] {
      versions.mapValues { $0.reduce(into: []) { $0.formUnion($1.edits) } }
        .filter { !$0.value.isEmpty }
    }
  }

  init(_ story: DocumentStory, _ device: TestDevice, _ account: Identifier, isTerse: Bool) {
    (self.story, self.device, self.account, self.isTerse) = (story, device, account, isTerse)
  }

  var key: Key { device.key.publicKey.bytes }

  // MARK: What happens on the device

  /// Edits a document by all that the phone has of it; deletes it if there is no edit.
  func change(_ document: Identifier, _ edit: UInt64?, padding: Int, to other: Identifier?) {
    guard !documents.deleted.contains(document) else { return }
    var (covered, edits) = (Clock(), Set<UInt64>())
    for version in documents.versions[document] ?? [] {
      covered.merge(version.clock) { max($0, $1) }
      covered.merge([version.author: version.counter]) { max($0, $1) }
      edits.formUnion(version.edits)
    }
    takeCounter()
    if let edit {
      edits.insert(edit)
      made[document, default: []].insert(edit)
    }
    let body = edit == nil ? nil : Version.body(edits, paddedBy: padding)
    let version = Version(
      document, by: key, counter, covering: covered, body, to: edit == nil ? nil : other)
    let waits = unpushed.contains { $0.document == document && $0.isRemoval && $0.counter > sent }
    if !waits, isTerse || edit == nil {
      unpushed.removeAll { $0.document == document && $0.counter > sent }
    }
    unpushed.append(version)
    documents.take(version)
  }

  /// Removes the other account from a document. A change has to follow at once, which records it: whoever merged the
  /// removal is taken to have merged what the phone wrote before.
  func takeBack(_ document: Identifier, from other: Identifier) {
    guard documents.versions[document] != nil else { return }
    takeCounter()
    unpushed.append(Version(document, by: key, counter, covering: [:], nil, to: other))
  }

  private func takeCounter() { counter = max(counter, clock.values.max() ?? 0) + 1 }

  private func drop(_ document: Identifier) {
    documents.end(document)
    unpushed.removeAll { $0.document == document }
  }

  /// The server has the phone's versions up to a counter.
  private func confirm(_ counter: Int64) {
    for version in unpushed where version.counter <= counter { pushed.insert(version.document) }
    unpushed.removeAll { $0.counter <= counter }
  }

  // MARK: The loop

  /// Nil once the phone has everything, and the server has everything of it.
  func keepUp() throws -> Pause? {
    do {
      if mayPush, story.chance(30) { try push() }
      do { try pull() } catch Pause.expired {
        clock = [:]
        try pull()
      }
      try push()
      return nil
    } catch let pause as Pause { return pause }
  }

  /// Pushes without a pull before, if the phone may.
  func pushAtOnce() throws {
    do { if mayPush { try push() } } catch is Pause {}
  }

  private var mayPush: Bool { pulled.map { story.now - $0 < Self.awaySpan } ?? false }

  private func ask(_ act: DocumentAct) throws -> Answer {
    guard let answer = try story.ask(act, self) else { throw Pause.interrupted }
    if answer.status == 401 { throw Pause.removed }
    return answer
  }

  private func push() throws {
    while !unpushed.isEmpty {
      var batch = Array(unpushed.prefix(story.number(1...20)))
      if batch.last?.isRemoval == true { batch = Array(unpushed.prefix(batch.count + 1)) }
      sent = max(sent, batch[batch.count - 1].counter)
      let answer = try ask(.push(batch))
      let json = try answer.json
      switch answer.status {
      case 200:
        for document in (json["deleted"].array ?? []).compactMap(\.identifier) { drop(document) }
      case 422 where batch[0].counter <= json["counter"].integer ?? 0: break
      // The other account takes nothing now: no share, no room, or a removal of which this phone does not know.
      case 422 where batch.contains(where: \.isShared),
        507 where batch.contains(where: \.isShared) && json["owner"].identifier != account:
        unpushed = unpushed.map { $0.isShared ? $0.unshared : $0 }
        continue
      case 507: throw Pause.full
      default: throw Mismatch("a push: \(UnexpectedAnswer(answer))")
      }
      confirm(json["counter"].integer ?? 0)
    }
  }

  /// Pulls what the clock lacks. With an empty one that is everything, so whatever does not come was deleted. That holds
  /// as well when an earlier try to start over broke off, and when the phone was the first to push.
  private func pull() throws {
    let isWhole = clock.isEmpty
    var (versions, known) = try pages(clock)
    // Another phone may have pushed between two pages, in place of what was still to come.
    var more = isWhole ? versions : []
    while !more.isEmpty {
      (more, known) = try pages(known)
      versions += more
    }
    clock = known
    if isWhole { startOver(with: versions) }
    for version in versions {
      if version.to == account {
        received.insert(version.document)
      } else {
        pushed.insert(version.document)
      }
      if version.isDeletion { drop(version.document) } else { documents.take(version) }
    }
    for version in isWhole ? unpushed : [] { documents.take(version) }
    pulled = story.now
  }

  /// Everything that a clock lacks, and the clock that has it, too.
  private func pages(_ start: Clock) throws -> (versions: [Version], clock: Clock) {
    var (versions, known, cursor) = ([Version](), start, String?.none)
    while true {
      let place = cursor == nil ? nil : versions.last.map { DocumentModel.Place($0) }
      let answer = try ask(.pull(start, cursor, place, limit: story.pageLimit()))
      if answer.status == 410 { throw Pause.expired }
      let json = try answer.json
      versions += (json["versions"].array ?? []).compactMap { Version($0) }
      known.merge(Version.clock(json["clock"])) { max($0, $1) }
      cursor = json["cursor"].string
      guard cursor == nil else { continue }
      confirm(json["counter"].integer ?? 0)
      return (versions, known)
    }
  }

  /// Forgets all but what it has yet to push, and deletes what was pushed and is not there. What the other account took
  /// back it does not write on.
  private func startOver(with versions: [Version]) {
    story.note("a phone starts over")
    documents.startOver()
    let own = versions.filter { $0.to != account }.map(\.document)
    for document in pushed.subtracting(own) { drop(document) }
    for document in received.subtracting(versions.map(\.document)) {
      unpushed.removeAll { $0.document == document }
      made[document] = nil
    }
    (pushed, received) = ([], [])
  }
}

extension DocumentModel.Place {
  init(_ version: Version) { self.init(author: version.author, counter: version.counter) }
}
