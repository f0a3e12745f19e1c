package import Base

/// A change of an account that a transaction committed, for those who wait for it.
///
/// It says where to look, not what changed. It is sent after the commit, so it may be lost if the program ends between
/// the two. Whoever acts on news must also look now and then without any.
package struct News: Hashable, Sendable {
  /// What clients fetch together. Each room names its own.
  package struct Topic: Hashable, Sendable {
    package let name: String

    /// `name` is of lower-case letters.
    package init(_ name: String) { self.name = name }

    /// What belongs to the account itself: its quota, its keys and sessions, its deletion, what it may see.
    package static let account = Topic("account")
  }

  package let account: Identifier
  package let topic: Topic
  /// What changed within the topic, if clients can fetch it alone.
  package let subject: Identifier?
  /// The account's sequence number after the change; 0 if none was taken.
  package let number: Int64
  /// The number before the change, which took all after it up to `number`.
  package let before: Int64
  /// The device key that made the change; nil if none did.
  package let author: [UInt8]?
  /// Whether no device needs to act on it: clients that listen are told, and devices that sleep are left alone.
  package let isQuiet: Bool

  /// `count` is how many numbers the change took, the last of which is `number`.
  package init(
    of account: Identifier, _ topic: Topic, _ subject: Identifier? = nil, number: Int64 = 0,
    count: Int64 = 1, by author: [UInt8]? = nil, isQuiet: Bool = false
  ) {
    self.account = account
    self.topic = topic
    self.subject = subject
    self.number = number
    before = max(0, number - count)
    self.author = author
    self.isQuiet = isQuiet
  }
}

/// News as the programs send it to each other: fields joined by colons, news by spaces.
extension News {
  /// PostgreSQL takes fewer than 8000 bytes.
  private static let messageByteCountMax = 7900
  /// The message that stands for more news than fit, and for lost ones.
  static let anything = "*"

  fileprivate var text: String {
    "\(topic.name):\(account):\(subject?.description ?? ""):\(number):\(number - before):"
      + "\(Hex.encode(author ?? [])):" + (isQuiet ? "quiet" : "")
  }

  fileprivate init?(_ text: Substring) {
    let fields = text.split(separator: ":", omittingEmptySubsequences: false)
    guard fields.count == 7, !fields[0].isEmpty,
      fields[0].utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }),
      let account = Identifier(String(fields[1])), let number = Int64(fields[3]),
      let count = Int64(fields[4]), 0 <= count, count <= number,
      let author = Hex.decode(fields[5].utf8), ["", "quiet"].contains(fields[6])
    else { return nil }
    let subject = Identifier(String(fields[2]))
    guard subject != nil || fields[2].isEmpty else { return nil }
    self.init(
      of: account, Topic(String(fields[0])), subject, number: number, count: count,
      by: author.isEmpty ? nil : author, isQuiet: !fields[6].isEmpty)
  }

  /// The news of a message; nil if anything may have changed. A text that is no message counts as that.
  static func read(_ message: String) -> [News]? {
    let texts = message.split(separator: " ")
    let news = texts.compactMap { News($0) }
    return news.count == texts.count ? news : nil
  }

  /// Two that differ in their numbers alone, as one; nil if another change may have taken numbers between theirs.
  fileprivate func joined(_ other: News) -> News? {
    guard before <= other.number, other.before <= number else { return nil }
    let number = max(number, other.number)
    return News(
      of: account, topic, subject, number: number, count: number - min(before, other.before),
      by: author, isQuiet: isQuiet)
  }

  /// News that wait to be sent. Those of one author that say the same are one, if their numbers follow each other.
  package struct Waiting: Sendable {
    /// Beyond this number the receivers have to look for themselves.
    private static let countMax = 2000

    /// By what changed, and who did it.
    private var waiting: [News: [News]] = [:]
    private var count = 0
    private var isOverfull = false

    package init() {}

    package var isEmpty: Bool { count == 0 && !isOverfull }

    package mutating func add(_ news: some Sequence<News>) {
      guard !isOverfull else { return }
      for one in news {
        let key = News(
          of: one.account, one.topic, one.subject, by: one.author, isQuiet: one.isQuiet)
        let both = waiting[key]?.last?.joined(one)
        if both != nil { waiting[key]?.removeLast() } else { count += 1 }
        waiting[key, default: []].append(both ?? one)
      }
      if count > Self.countMax {
        (waiting, count) = ([:], 0)
        isOverfull = true
      }
    }

    /// All of it, which then waits no more; nil if it was too much to keep.
    package mutating func takeNews() -> [News]? {
      defer { self = Waiting() }
      guard !isOverfull else { return nil }
      return waiting.values.flatMap(\.self)
    }

    /// The messages that carry all of it, which then waits no more.
    package mutating func takeMessages() -> [String] {
      guard let news = takeNews() else { return [News.anything] }
      var messages: [String] = []
      var message = ""
      for one in news {
        let text = one.text
        if message.utf8.count + text.utf8.count >= News.messageByteCountMax {
          messages.append(message)
          message = ""
        }
        message += message.isEmpty ? text : " " + text
      }
      return message.isEmpty ? messages : messages + [message]
    }
  }
}
