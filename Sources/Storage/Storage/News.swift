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
  /// The device key that made the change; nil if none did, or not one alone.
  package let author: [UInt8]?
  /// Whether no device needs to act on it: clients that listen are told, and devices that sleep are left alone.
  package let isQuiet: Bool

  package init(
    of account: Identifier, _ topic: Topic, _ subject: Identifier? = nil, number: Int64 = 0,
    by author: [UInt8]? = nil, isQuiet: Bool = false
  ) {
    self.account = account
    self.topic = topic
    self.subject = subject
    self.number = number
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
    "\(topic.name):\(account):\(subject?.description ?? ""):\(number):\(Hex.encode(author ?? [])):"
      + (isQuiet ? "quiet" : "")
  }

  fileprivate init?(_ text: Substring) {
    let fields = text.split(separator: ":", omittingEmptySubsequences: false)
    guard fields.count == 6, !fields[0].isEmpty,
      fields[0].utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }),
      let account = Identifier(String(fields[1])), let number = Int64(fields[3]),
      let author = Hex.decode(fields[4].utf8), ["", "quiet"].contains(fields[5])
    else { return nil }
    let subject = Identifier(String(fields[2]))
    guard subject != nil || fields[2].isEmpty else { return nil }
    self.init(
      of: account, Topic(String(fields[0])), subject, number: number,
      by: author.isEmpty ? nil : author, isQuiet: !fields[5].isEmpty)
  }

  /// The news of a message; nil if anything may have changed. A text that is no message counts as that.
  static func read(_ message: String) -> [News]? {
    var news: [News] = []
    for text in message.split(separator: " ") {
      guard let one = News(text) else { return nil }
      news.append(one)
    }
    return news
  }

  /// News that wait to be sent, each once, with the latest number, and with the author if there was one alone.
  package struct Waiting: Sendable {
    /// Beyond this number the receivers have to look for themselves.
    private static let countMax = 2000

    /// By what changed.
    private var latest: [News: News] = [:]
    private var isOverfull = false

    package init() {}

    package var isEmpty: Bool { latest.isEmpty && !isOverfull }

    package mutating func add(_ news: some Sequence<News>) {
      guard !isOverfull else { return }
      for one in news {
        let key = News(of: one.account, one.topic, one.subject)
        let before = latest[key] ?? one
        latest[key] = News(
          of: one.account, one.topic, one.subject, number: max(before.number, one.number),
          by: before.author == one.author ? one.author : nil,
          isQuiet: before.isQuiet && one.isQuiet)
      }
      if latest.count > Self.countMax {
        latest = [:]
        isOverfull = true
      }
    }

    /// All of it, which then waits no more; nil if it was too much to keep.
    package mutating func takeNews() -> [News]? {
      defer { self = Waiting() }
      guard !isOverfull else { return nil }
      return Array(latest.values)
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
