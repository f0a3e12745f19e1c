import Base
import Storage

/// The news that were heard and not yet looked into, by account: a value without clock or database.
///
/// News of one account come by several ways. So they are looked into a while after the first of them, together.
struct Overheard {
  struct Entry {
    /// The account's latest number; 0 if none was heard.
    fileprivate(set) var number: Int64
    /// The device that took all these numbers; nil if none did, or not one alone.
    fileprivate(set) var author: [UInt8]?
    fileprivate(set) var topics: Set<News.Topic>
    fileprivate let since: MonotonicTime
  }

  /// Beyond this number, all accounts are looked at instead.
  private static let countMax = 20_000

  private var entries: [Identifier: Entry] = [:]
  /// Whether news may have been missed, as at the start.
  private(set) var mayHaveMissed = true

  mutating func add(_ news: [News], at now: MonotonicTime) {
    for one in news {
      var entry =
        entries[one.account] ?? Entry(number: 0, author: nil, topics: [], since: now)
      if one.number > 0 {
        entry.author = entry.number == 0 || entry.author == one.author ? one.author : nil
        entry.number = max(entry.number, one.number)
      }
      entry.topics.insert(one.topic)
      entries[one.account] = entry
    }
    if entries.count > Self.countMax { miss() }
  }

  mutating func miss() {
    entries = [:]
    mayHaveMissed = true
  }

  /// Whether news were missed since the last call.
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
}
