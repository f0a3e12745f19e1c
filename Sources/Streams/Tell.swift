package import Accounts
import Base
import JSON
package import Storage

/// The kinds of data that have changed. The client fetches them as always, so nothing is lost if it is told twice.
package struct Tell: Equatable, Sendable {
  /// The most subjects of a kind that are named. More are told as everything.
  package static let subjectCountMax = 32

  /// Anything may have changed.
  package static let everything = Tell(isEverything: true)

  private var isEverything = false
  /// The changed kinds, with their subjects if clients can fetch those alone.
  private var kinds: [String: Set<Identifier>] = [:]

  private init(isEverything: Bool) { self.isEverything = isEverything }

  /// Tells nothing yet.
  package init() {}

  package init(_ news: News) {
    merge(news.topic.name, news.subject.map { [$0] } ?? [])
  }

  /// What is followed may have changed.
  package init(_ followed: Followed) {
    merge(followed.topic.name, followed.subject.map { [$0] } ?? [])
  }

  package init(kinds names: some Sequence<String>) {
    for name in names { kinds[name] = [] }
  }

  var isEmpty: Bool { !isEverything && kinds.isEmpty }

  package mutating func merge(_ other: Tell) {
    if other.isEverything { self = .everything }
    for (name, subjects) in other.kinds { merge(name, subjects) }
  }

  private mutating func merge(_ name: String, _ subjects: Set<Identifier>) {
    guard !isEverything else { return }
    let known = kinds[name]
    let isWhole = subjects.isEmpty || known?.isEmpty == true
    let all = isWhole ? [] : (known ?? []).union(subjects)
    if all.count > Self.subjectCountMax {
      self = .everything
    } else {
      kinds[name] = all
    }
  }

  /// The event as it is sent (https://html.spec.whatwg.org/multipage/server-sent-events.html). It has no id, because
  /// there is nothing to repeat: the client's cursors say what it knows.
  package var event: [UInt8] {
    let members: [JSONValue.Member] =
      isEverything
      ? [.init("all", .bool(true))]
      : kinds.sorted { $0.key < $1.key }.map { name, subjects in
        .init(
          name,
          subjects.isEmpty
            ? .bool(true) : .array(subjects.sorted().map { .string($0.description) }))
      }
    return Array("event: pull\ndata: ".utf8) + JSONValue.object(members).encoded()
      + Array("\n\n".utf8)
  }
}
