import Accounts
import Base
import Storage

/// The news that were heard and not yet looked into, by account: a value without clock or database.
///
/// News of one account come by several ways. So they are looked into a while after the first of them, together.
struct Overheard {
  struct Entry {
    /// The account's numbers that one device took, or that no device needs to act on.
    private struct Numbers {
      /// Nil if no device needs to act on them.
      let author: [UInt8]?
      var before: Int64
      var last: Int64
    }

    private var heard: [Numbers] = []
    /// The subjects of what those who follow the account may need to act on.
    private var changed: [News.Topic: Set<Identifier?>] = [:]
    fileprivate let since: MonotonicTime

    /// Beyond this number, what is heard is dropped, which wakes a device too many at worst.
    private static let heardCountMax = 32

    fileprivate init(since: MonotonicTime) { self.since = since }

    var topics: Set<News.Topic> { Set(changed.keys) }

    /// Whether one who follows this may need to act. News without a subject concern all subjects.
    func concerns(_ followed: Followed) -> Bool {
      guard let subjects = changed[followed.topic] else { return false }
      return followed.subject == nil || subjects.contains(nil)
        || subjects.contains(followed.subject)
    }

    /// Whether nothing beyond `known`, up to `latest`, concerns a device: it took each of the numbers itself, or they were
    /// quiet. Those of which no news came are another's. News may come twice, late, and in any order.
    func isNothing(to device: [UInt8], after known: Int64, upTo latest: Int64) -> Bool {
      var known = known
      for numbers in heard.sorted(by: { $0.before < $1.before })
      where numbers.before <= known && (numbers.author == nil || numbers.author == device) {
        known = max(known, numbers.last)
      }
      return known >= latest
    }

    fileprivate func joined(_ later: Entry) -> Entry {
      var both = self
      both.changed.merge(later.changed) { $0.union($1) }
      both.heard += later.heard.prefix(Self.heardCountMax - heard.count)
      return both
    }

    fileprivate mutating func note(_ one: News) {
      if !one.isQuiet { changed[one.topic, default: []].insert(one.subject) }
      guard one.number > 0, one.isQuiet || one.author != nil else { return }
      let author = one.isQuiet ? nil : one.author
      let index = heard.firstIndex {
        $0.author == author && $0.before <= one.number && one.before <= $0.last
      }
      if let index {
        heard[index].before = min(heard[index].before, one.before)
        heard[index].last = max(heard[index].last, one.number)
      } else if heard.count < Self.heardCountMax {
        heard.append(Numbers(author: author, before: one.before, last: one.number))
      }
    }
  }

  /// Beyond this number, all accounts are looked at instead.
  private static let countMax = 20_000

  private var entries: [Identifier: Entry] = [:]
  /// Whether news may have been missed, as at the start.
  private(set) var mayHaveMissed = true

  mutating func add(_ news: [News], at now: MonotonicTime) {
    for one in news { entries[one.account, default: Entry(since: now)].note(one) }
    if entries.count > Self.countMax { miss() }
  }

  mutating func miss() {
    entries = [:]
    mayHaveMissed = true
  }

  mutating func takeMissed() -> Bool {
    defer { mayHaveMissed = false }
    return mayHaveMissed
  }

  /// The accounts of which news were first heard at least `span` ago, at most `count`.
  mutating func take(
    after span: Instant.Span, atMost count: Int, now: MonotonicTime
  ) -> [Identifier: Entry] {
    var taken: [Identifier: Entry] = [:]
    for (account, entry) in entries where entry.since + span <= now {
      guard taken.count < count else { break }
      taken[account] = entry
    }
    for account in taken.keys { entries[account] = nil }
    return taken
  }

  /// Takes back what was not looked into.
  mutating func keep(_ left: [Identifier: Entry]) {
    entries.merge(left) { later, earlier in earlier.joined(later) }
  }
}
