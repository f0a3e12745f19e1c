import Accounts
package import Base
package import Storage

/// The open streams, and who is told what: a value without sockets, clocks or a database.
///
/// News say that an account's data have changed. They may be lost, and they do not reach whoever is entitled no more.
/// So accounts are doubted: all at first, an account of which news of its own came, and each now and then. A look at
/// the database settles a doubt, and finds what no news told. It may also come before the news of what it finds.
package struct Audience {
  /// A stream by the descriptor of its socket.
  package typealias Stream = Int32

  /// What is to be done for a part of the streams.
  package struct Effects: Equatable {
    package var tells: [Stream: Tell] = [:]
    package var ended: [Stream] = []
    /// How often a look found what no news told, neither before nor in the second after it.
    package var missedCount: Int64 = 0

    package init() {}
  }

  private struct Listener {
    var streams: [Stream: Credential] = [:]
    var fresh: Set<Stream> = []
    var state: AccountState?
    var followed: Set<Followed> = []
    /// The interruptions before the latest question about the account; nil before the first.
    var asked: Int?
  }

  /// What is known of an account's sequence number.
  private struct Known {
    /// The latest that news or a look told.
    var told: Int64
    /// As of the latest look.
    var looked: Int64
    /// The interruptions before that look.
    var settled: Int
    /// A number that a look found, and when, until its news come.
    var found: (number: Int64, at: MonotonicTime)?
  }

  /// News that come later count as missed.
  private static let patience = Instant.Span.seconds(1)

  private var listeners: [Identifier: Listener] = [:]
  private var accounts: [Stream: Identifier] = [:]
  /// By owner: who follows which of its news.
  private var followers: [Identifier: [Followed: Set<Identifier>]] = [:]
  private var numbers: [Identifier: Known] = [:]
  private var interruptionCount = 0
  /// The accounts to look at, each once, in their order.
  private var doubted: [Identifier] = []
  private var isDoubted: Set<Identifier> = []

  package init() {}

  package var isEmpty: Bool { accounts.isEmpty }

  /// A stream begins. It is told something once its account was looked at: from then on no change is missed.
  package mutating func enter(_ stream: Stream, of account: Identifier, by credential: Credential) {
    accounts[stream] = account
    listeners[account, default: Listener()].streams[stream] = credential
    listeners[account]?.fresh.insert(stream)
    doubt(account)
  }

  package mutating func leave(_ stream: Stream) {
    guard let account = accounts.removeValue(forKey: stream), var listener = listeners[account]
    else { return }
    listener.streams[stream] = nil
    listener.fresh.remove(stream)
    guard listener.streams.isEmpty else {
      listeners[account] = listener
      return
    }
    listeners[account] = nil
    for followed in listener.followed { unfollow(followed, account) }
    forgetNumber(of: account)
  }

  /// Whom news concern.
  package mutating func hear(_ news: [News]) -> [Stream: Tell] {
    var tells: [Stream: Tell] = [:]
    for one in news {
      note(one.number, of: one.account)
      guard one.topic != .account else {
        doubt(one.account)
        continue
      }
      tell(one.account, Tell(one), &tells)
      guard let followed = followers[one.account] else { continue }
      // All who follow the topic, and those who follow the subject alone. News without a subject concern all of them.
      let concerned: [Set<Identifier>] =
        if let subject = one.subject {
          [nil, subject].compactMap { followed[Followed(one.account, one.topic, $0)] }
        } else {
          followed.filter { $0.key.topic == one.topic }.map(\.value)
        }
      for follower in concerned.joined() { tell(follower, Tell(one), &tells) }
    }
    return tells
  }

  private func tell(_ account: Identifier, _ tell: Tell, _ tells: inout [Stream: Tell]) {
    guard let listener = listeners[account] else { return }
    for stream in listener.streams.keys where !listener.fresh.contains(stream) {
      tells[stream, default: Tell()].merge(tell)
    }
  }

  private mutating func note(_ number: Int64, of account: Identifier) {
    guard var known = numbers[account] else {
      // The answer to the first question may be older than these news.
      guard number > 0, listeners[account] != nil else { return }
      numbers[account] = Known(told: number, looked: 0, settled: interruptionCount)
      return
    }
    known.told = max(known.told, number)
    if let found = known.found, found.number <= number { known.found = nil }
    numbers[account] = known
  }

  // MARK: Doubts

  /// Has an account looked at, if it has streams.
  package mutating func doubt(_ account: Identifier) {
    guard listeners[account] != nil, isDoubted.insert(account).inserted else { return }
    doubted.append(account)
  }

  package mutating func doubt(accountOf stream: Stream) {
    if let account = accounts[stream] { doubt(account) }
  }

  /// News may have been missed. Later ones of an account do not say that all before them were told.
  package mutating func miss() {
    interruptionCount += 1
    for account in listeners.keys { doubt(account) }
  }

  /// The next questions; none if there is no doubt.
  package mutating func takeQuestions(atMost count: Int) -> [Look.Question] {
    let taken = doubted.prefix(count)
    doubted.removeFirst(taken.count)
    isDoubted.subtract(taken)
    return taken.compactMap { account in
      listeners[account]?.asked = interruptionCount
      return listeners[account].map { listener in
        Look.Question(account: account, credentials: Set(listener.streams.values))
      }
    }
  }

  package mutating func learn(_ findings: [Look.Finding], at now: MonotonicTime) -> Effects {
    var effects = Effects()
    for finding in findings { learn(finding, at: now, &effects) }
    return effects
  }

  private mutating func learn(
    _ finding: Look.Finding, at now: MonotonicTime, _ effects: inout Effects
  ) {
    guard var listener = listeners[finding.account] else { return }
    let isOpen = finding.state?.isShut == false
    // A stream that came after the question is not judged by the answer.
    let judged = listener.streams.filter { finding.asked.contains($0.value) }
    let ended = judged.filter { !isOpen || !finding.valid.contains($0.value) }.map(\.key)
    effects.ended += ended
    for stream in judged.keys where listener.fresh.remove(stream) != nil {
      effects.tells[stream, default: Tell()].merge(.everything)
    }
    if let state = finding.state {
      let kinds = listener.state.map { state.differences(from: $0) } ?? []
      listener.state = state
      if !kinds.isEmpty {
        for stream in listener.streams.keys where !listener.fresh.contains(stream) {
          effects.tells[stream, default: Tell()].merge(Tell(kinds: kinds))
        }
      }
    }
    let before = listener.followed
    listener.followed = Set(finding.followed.keys)
    listeners[finding.account] = listener
    for followed in before.subtracting(listener.followed) {
      unfollow(followed, finding.account)
      // The news of its end may be lost, and no number tells of it: an owner who deletes a log holds no other's row.
      tell(finding.account, Tell(followed), &effects.tells)
    }
    for followed in listener.followed.subtracting(before) {
      followers[followed.owner, default: [:]][followed, default: []].insert(finding.account)
      // What the owner did since it came into view was told to nobody else.
      tell(finding.account, Tell(followed), &effects.tells)
    }
    raise(finding.account, finding.number, asked: listener.asked, at: now, &effects)
    for (followed, number) in finding.followed {
      raise(followed.owner, number, asked: listener.asked, at: now, &effects)
    }
    for stream in ended { effects.tells[stream] = nil }
  }

  /// Takes in a number that a look found, asked after so many interruptions. What no news had told is told now.
  private mutating func raise(
    _ account: Identifier, _ number: Int64, asked: Int?, at now: MonotonicTime,
    _ effects: inout Effects
  ) {
    guard var known = numbers[account] else {
      // Whoever listens or follows was told everything just now.
      numbers[account] = Known(told: number, looked: number, settled: interruptionCount)
      return
    }
    if let found = known.found, found.at + Self.patience <= now {
      effects.missedCount += 1
      known.found = nil
    }
    if number > known.told, known.found == nil { known.found = (number, now) }
    // After an interruption, news that were heard do not say that those before them were.
    let isFirstSince = asked.map { $0 > known.settled } ?? false
    let isNew = number > (isFirstSince ? known.looked : known.told)
    known.told = max(known.told, number)
    if asked == interruptionCount {
      known.looked = max(known.looked, number)
      known.settled = interruptionCount
    }
    numbers[account] = known
    guard isNew else { return }
    tell(account, .everything, &effects.tells)
    for (followed, accounts) in followers[account] ?? [:] {
      for follower in accounts { tell(follower, Tell(followed), &effects.tells) }
    }
  }

  private mutating func unfollow(_ followed: Followed, _ account: Identifier) {
    followers[followed.owner]?[followed]?.remove(account)
    if followers[followed.owner]?[followed]?.isEmpty == true {
      followers[followed.owner]?[followed] = nil
    }
    if followers[followed.owner]?.isEmpty == true { followers[followed.owner] = nil }
    forgetNumber(of: followed.owner)
  }

  private mutating func forgetNumber(of account: Identifier) {
    if listeners[account] == nil, followers[account] == nil { numbers[account] = nil }
  }
}
