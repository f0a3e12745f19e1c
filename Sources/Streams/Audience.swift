import Accounts
package import Base
package import Storage

/// The open streams, and who is told what: a value without sockets, clocks or a database.
///
/// News say that an account's data have changed. They may be lost, and they do not reach whoever is entitled no more.
/// So accounts are doubted: all at first, an account of which news of its own came, and each now and then. A look at
/// the database settles a doubt, and finds what no news told.
package struct Audience {
  /// A stream by the descriptor of its socket.
  package typealias Stream = Int32

  /// What is to be done for a part of the streams.
  package struct Effects: Equatable {
    package var tells: [Stream: Tell] = [:]
    package var ended: [Stream] = []
    /// How often a look found what no news had told.
    package var missedCount: Int64 = 0

    package init() {}
  }

  private struct Listener {
    var streams: [Stream: Credential] = [:]
    /// Streams that have not been told anything yet.
    var fresh: Set<Stream> = []
    /// Nil before the first look.
    var state: AccountState?
    var followed: Set<Followed> = []
  }

  private var listeners: [Identifier: Listener] = [:]
  private var accounts: [Stream: Identifier] = [:]
  /// By owner: who follows which of its news.
  private var followers: [Identifier: [Followed: Set<Identifier>]] = [:]
  /// The latest known sequence numbers of accounts that have streams or are followed.
  private var numbers: [Identifier: Int64] = [:]
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
      if let known = numbers[one.account] { numbers[one.account] = max(known, one.number) }
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

  // MARK: Doubts

  /// Has an account looked at, if it has streams.
  package mutating func doubt(_ account: Identifier) {
    guard listeners[account] != nil, isDoubted.insert(account).inserted else { return }
    doubted.append(account)
  }

  package mutating func doubt(accountOf stream: Stream) {
    if let account = accounts[stream] { doubt(account) }
  }

  package mutating func doubtAll() { for account in listeners.keys { doubt(account) } }

  /// The next questions; none if there is no doubt.
  package mutating func takeQuestions(atMost count: Int) -> [Look.Question] {
    let taken = doubted.prefix(count)
    doubted.removeFirst(taken.count)
    isDoubted.subtract(taken)
    return taken.compactMap { account in
      listeners[account].map { listener in
        Look.Question(account: account, credentials: Set(listener.streams.values))
      }
    }
  }

  package mutating func learn(_ findings: [Look.Finding]) -> Effects {
    var effects = Effects()
    for finding in findings { learn(finding, &effects) }
    return effects
  }

  private mutating func learn(_ finding: Look.Finding, _ effects: inout Effects) {
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
    for followed in before.subtracting(listener.followed) { unfollow(followed, finding.account) }
    for followed in listener.followed.subtracting(before) {
      followers[followed.owner, default: [:]][followed, default: []].insert(finding.account)
      // What the owner did since it came into view was told to nobody else.
      tell(finding.account, Tell(followed), &effects.tells)
    }
    raise(finding.account, finding.number, &effects)
    for (followed, number) in finding.followed { raise(followed.owner, number, &effects) }
    for stream in ended { effects.tells[stream] = nil }
  }

  /// Takes in a number that a look found. What no news had told is told now, without knowing what it is.
  private mutating func raise(_ account: Identifier, _ number: Int64, _ effects: inout Effects) {
    guard let known = numbers[account] else {
      numbers[account] = number
      return
    }
    guard number > known else { return }
    numbers[account] = number
    effects.missedCount += 1
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
