import Base
import Storage

/// The news that were heard and not yet looked into, by account: a value without clock or database.
///
/// News of one account come by several ways. So they are looked into a while after the first of them, together.
struct Overheard {
  struct Entry {
    /// The latest of the account's numbers that each device took; nil: that no device took, or not one alone.
    fileprivate var numbers: [[UInt8]?: Int64] = [:]
    /// The latest of its numbers that no device needs to act on.
    fileprivate var quietNumber: Int64 = 0
    fileprivate(set) var topics: Set<News.Topic> = []
    fileprivate let since: MonotonicTime

    /// Beyond this number of devices, all are taken for no one.
    fileprivate static let authorCountMax = 16

    /// Whether nothing beyond `known`, up to `latest`, concerns a device: it took the numbers itself, or they were quiet.
    /// News may come twice and late.
    func isNothing(to device: [UInt8], after known: Int64, upTo latest: Int64) -> Bool {
      max(numbers[device] ?? 0, quietNumber) == latest
        && numbers.allSatisfy { $0.key == device || $0.value <= known }
    }

    fileprivate mutating func note(_ one: News) {
      guard one.number > 0 else { return }
      guard !one.isQuiet else {
        quietNumber = max(quietNumber, one.number)
        return
      }
      let isKnown = numbers[one.author] != nil || numbers.count < Self.authorCountMax
      let author = isKnown ? one.author : nil
      numbers[author] = max(numbers[author] ?? 0, one.number)
    }
  }

  /// Beyond this number, all accounts are looked at instead.
  private static let countMax = 20_000

  private var entries: [Identifier: Entry] = [:]
  /// Whether news may have been missed, as at the start.
  private(set) var mayHaveMissed = true

  mutating func add(_ news: [News], at now: MonotonicTime) {
    for one in news {
      var entry = entries[one.account] ?? Entry(since: now)
      entry.note(one)
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
