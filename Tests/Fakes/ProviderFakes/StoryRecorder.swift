package import Base
import Crypto
package import JSON

/// A fake store as the recorder of its stories uses it.
package protocol RecordedStore: AnyObject, Sendable {
  /// The deliveries so far, oldest first.
  var deliveries: [FakeDelivery] { get }
  /// The delivery's type, used in file names.
  func type(of delivery: FakeDelivery) -> String
  func request(for delivery: FakeDelivery, at moment: Instant) -> FakeRequest
  /// The store's own names of all subscriptions, in the order of their creation.
  var sold: [String] { get }
  /// The subscriptions of an account, according to the sales oracle.
  func sold(to account: Identifier) -> [String]
  /// The API's present answers to reads, by the last part of their path, each with a file name. Empty if a
  /// delivery holds everything.
  var reads: [(name: String, file: String, answer: FakeAnswer)] { get }
  /// The body that an app posts to claim a subscription.
  func claim(of subscription: String) -> JSONValue
  /// Our server acknowledges a purchase; false if there is nothing to acknowledge.
  func acknowledge(_ subscription: String, for account: Identifier) -> Bool
  /// The status in our server's answer to an accepted delivery, if it is not `recorded`.
  var answer: String? { get }
  /// The settings of a server that accepts its deliveries; file names are relative to the repository's root.
  var serverSettings: [(key: String, value: String)] { get }
  /// The source of the recorded objects' shape.
  var source: String { get }
}

extension RecordedStore {
  package func sold(to account: Identifier) -> [String] { sold }
  package var reads: [(name: String, file: String, answer: FakeAnswer)] { [] }
  package func acknowledge(_ subscription: String, for account: Identifier) -> Bool { false }
  package var answer: String? { nil }
}

/// A story being recorded: the events at a store, step by step, with our server's expected state.
///
/// Deliveries arrive two seconds after they were sent; steps are at whole seconds.
package final class StoryRecorder<Store: RecordedStore> {
  package let clock: FakeClock
  package let store: Store
  /// The store to which the customer may move.
  package let stripe: FakeStripe
  package let account: Identifier
  /// Raw requests, claims and answers to reads, by file name.
  package private(set) var files: [(name: String, bytes: [UInt8])] = []
  /// Decisions at our own server in the meantime, which the store does not know.
  package private(set) var decisions: [(decision: Decision, at: Instant)] = []
  private var steps: [JSONValue] = []
  private var arrived: Set<FakeDelivery> = []
  private var answers: [String: [UInt8]] = [:]
  private var last: Instant
  private var isDeleted = false

  package typealias Expectation = StoryExpectation

  package enum Decision: Hashable, Sendable {
    case claim(String)
    case deleteAccount
  }

  /// `path`: the story's folder under webhooks/, which determines ids.
  package init(
    _ path: String, start: Instant, _ makeStore: (FakeClock, _ seed: UInt64) -> Store
  ) {
    let digest = SHA256.hash(Array(path.utf8))
    clock = FakeClock(start)
    last = start - .hours(1)
    store = makeStore(clock, digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    var settings = StripeSettings(.basil)
    settings.seed = path
    stripe = FakeStripe(clock, settings)
    var bytes = Array(digest.suffix(16))
    // Version 4, variant 1, like our server's ids.
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    account = Identifier(bytes: bytes)!
  }

  // MARK: steps

  /// Only moves the clock, to the first whole second at or after `moment`.
  ///
  /// Deliveries wait meanwhile. The recorded answers to reads change only with a delivery, or with `reading`.
  package func time(_ moment: Instant, _ expected: Expectation, reading: Bool = false) {
    step(at: moment, [], expected, reading: reading)
  }

  /// One step a second before `moment`, and one at it.
  package func edge(_ moment: Instant, _ before: Expectation, _ after: Expectation) {
    time(Instant(seconds: (moment - .milliseconds(1)).seconds), before)
    time(moment, after)
  }

  package func go(_ span: Instant.Span) { clock.advance(by: span) }
  package func go(to moment: Instant) { clock.set(moment) }

  /// All waiting deliveries arrive, each with its own expectation. If `acknowledging` names the subject of
  /// the first one, it is then acknowledged.
  package func deliver(_ expected: Expectation..., acknowledging subscription: String? = nil) {
    let news = waiting
    let names = news.map { $0.store.type(of: $0.delivery) }
    precondition(news.count == expected.count, "\(news.count) deliveries wait: \(names)")
    for (index, expected) in expected.enumerated() {
      arrive(news[index], expected, acknowledging: index == 0 ? subscription : nil)
    }
  }

  /// All waiting deliveries arrive, however many; one expectation applies to all.
  package func deliverAll(_ expected: Expectation) {
    for one in waiting { arrive(one, expected) }
  }

  /// The same delivery again, because the store did not see our answer.
  package func repeatLast(_ expected: Expectation) {
    guard let delivery = store.deliveries.last(where: { arrived.contains($0) }) else { return }
    arrive((delivery, store), expected, answer: "duplicate")
  }

  /// The account's app posts the proof of a purchase.
  package func claim(
    _ subscription: String, _ expected: Expectation, acknowledging: Bool = false
  ) {
    let file = "\(number)-claim.json"
    files.append((file, store.claim(of: subscription).encoded()))
    step(
      at: clock.now + .seconds(3), [.init("claim", .string(file))], expected,
      acknowledging: acknowledging ? subscription : nil, deciding: .claim(subscription))
  }

  package func deleteAccount() {
    isDeleted = true
    step(
      at: clock.now + .seconds(5), [.init("delete_account", true)], .nobody,
      deciding: .deleteAccount)
  }

  // MARK: deliveries

  typealias Waiting = (delivery: FakeDelivery, store: any RecordedStore)

  /// The deliveries that have not arrived yet.
  var waiting: [Waiting] {
    let stores: [any RecordedStore] = [store, stripe]
    return stores.flatMap { store in
      store.deliveries.filter { !arrived.contains($0) }.map { ($0, store) }
    }
  }

  /// The newest delivery of that type that has arrived.
  func arrived(_ type: String) -> FakeDelivery? {
    store.deliveries.last { arrived.contains($0) && store.type(of: $0) == type }
  }

  func arrive(
    _ one: Waiting, _ expected: Expectation, answer: String? = nil,
    acknowledging subscription: String? = nil
  ) {
    arrived.insert(one.delivery)
    arrive(
      one.store.type(of: one.delivery), sent: one.delivery.emitted, expected,
      answer: answer ?? one.store.answer, acknowledging: subscription
    ) { one.store.request(for: one.delivery, at: $0) }
  }

  func arrive(
    _ type: String, sent: Instant, _ expected: Expectation, answer: String? = nil,
    acknowledging subscription: String? = nil, _ request: (Instant) -> FakeRequest
  ) {
    let moment = Self.ceiling(max(sent + .seconds(2), last + .seconds(1), clock.now))
    let file = "\(number)-\(type).http"
    files.append((file, request(moment).complete.bytes))
    var members = [JSONValue.Member("deliver", .string(file))]
    if let answer { members.append(.init("answer", .string(answer))) }
    step(at: moment, members, expected, acknowledging: subscription)
  }

  private var number: String { (steps.count < 9 ? "0" : "") + String(steps.count + 1) }

  private func step(
    at moment: Instant, _ members: [JSONValue.Member], _ expected: Expectation,
    acknowledging subscription: String? = nil, reading: Bool = true,
    deciding decision: Decision? = nil
  ) {
    let at = Self.ceiling(moment)
    precondition(last <= at, "steps are in order")
    last = at
    clock.set(max(clock.now, at))
    if let decision { decisions.append((decision, at)) }
    var step = members + [.init("at", .string(at.description))]
    let reads = reading ? changedReads() : []
    if !reads.isEmpty { step.append(.init("reads", .object(reads))) }
    if let subscription {
      step.append(.init("acknowledges", [.string(letter(subscription))]))
    }
    let letters = store.sold(to: account).map { letter($0) }
    step.append(.init("expect", isDeleted ? .object([]) : expected.json(letters)))
    steps.append(.object(step))
    if let subscription {
      let isDone = store.acknowledge(subscription, for: account)
      precondition(isDone, "nothing to acknowledge")
      time(at + .seconds(1), expected, reading: true)
    }
  }

  /// The answers that differ from those of the step before, each in its own file.
  private func changedReads() -> [JSONValue.Member] {
    store.reads.compactMap { read in
      guard answers[read.name] != read.answer.body else { return nil }
      answers[read.name] = read.answer.body
      let name = store.sold.contains(read.name) ? letter(read.name) : read.name
      guard read.answer.status == 200 else {
        return .init(name, .integer(Int64(read.answer.status)))
      }
      let file = "\(number)-\(read.file).json"
      files.append((file, read.answer.body))
      return .init(name, .string(file))
    }
  }

  /// `A` is the first subscription of the story.
  private func letter(_ subscription: String) -> String {
    let index = store.sold.firstIndex(of: subscription) ?? 0
    return String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index)))
  }

  private static func ceiling(_ moment: Instant) -> Instant {
    Instant(seconds: (moment + .milliseconds(999)).seconds)
  }

  // MARK: the file

  /// `story.json`, with one line for each step.
  package func storyFile(title: String) -> [UInt8] {
    var settings = store.serverSettings
    if !stripe.deliveries.isEmpty { settings += stripe.serverSettings }
    let members: [(String, JSONValue)] = [
      ("title", .string(title)), ("source", .string(store.source)),
      ("account", .string(account.description)),
      ("settings", .object(settings.map { .init($0.key, .string($0.value)) })),
      ("subscriptions", .object(store.sold.map { .init(letter($0), .string($0)) })),
    ]
    let head = members.map { "  \"\($0)\": \(Self.line($1)),\n" }.joined()
    let lines = steps.map { "    " + Self.line($0) }.joined(separator: ",\n")
    return Array("{\n\(head)  \"steps\": [\n\(lines)\n  ]\n}\n".utf8)
  }

  private static func line(_ value: JSONValue) -> String {
    String(decoding: value.encoded(), as: UTF8.self)
  }
}

extension FakeRequest {
  /// The request with the fields that every HTTP/1.1 request has.
  fileprivate var complete: FakeRequest {
    guard header("Host") == nil else { return self }
    return FakeRequest(
      method: method, path: path,
      headers: [("Host", "billing.coffer.example"), ("Content-Length", "\(body.count)")]
        + headers, body: body)
  }
}

extension Instant {
  /// When the story of that name begins: on a morning of March 2026, up to 255 times `apart` after nine.
  static func morning(of name: String, apart: Span) -> Instant {
    let digest = SHA256.hash(Array(name.utf8))
    return Instant(seconds: 1_772_442_000) + .days(Int64(digest[0] % 20))
      + .milliseconds(Int64(digest[1]) * apart.milliseconds)
  }
}
