import Base
import Endpoints
import Goldens
import HTTPMessages
import Logs
import SeededRandom
import Testing

/// Requests and answers of Actual's clients, byte for byte.
@Suite struct ActualSyncTests {
  /// Three messages, one of them encrypted and one empty, as Google's library for Python writes them.
  private static let envelopes = """
    0a4d0a2e323032342d30352d30315431323a30303a30302e3030305a2d303030302d30313233343536373839616263646566\
    1a1b0a056e6f746573120261311a046e6f74652208533a68c3a96c6c6f\
    0a590a2e323032342d30352d30315431323a30303a30302e3030305a2d464646462d30313233343536373839616263646566\
    10011a250a0c000102030405060708090a0b1210000102030405060708090a0b0c0d0e0f1a03ff0080\
    0a300a2e323032342d30352d30315431323a30303a30302e3030315a2d303030302d30313233343536373839616263646566
    """
  private static let request =
    envelopes + """
      122430663866616435622d643963622d343639662d613136352d373038363737323839353065\
      1a2437633965363637392d373432352d343064652d393434622d6530376663316639306165372a016b\
      322e313937302d30312d30315430303a30303a30302e3030305a2d303030302d30313233343536373839616263646566
      """
  private static let stamps = [
    "2024-05-01T12:00:00.000Z-0000-0123456789abcdef",
    "2024-05-01T12:00:00.000Z-FFFF-0123456789abcdef",
    "2024-05-01T12:00:00.001Z-0000-0123456789abcdef",
  ]
  private static let since = "1970-01-01T00:00:00.000Z-0000-0123456789abcdef"

  private static func bytes(_ hex: String) throws -> [UInt8] { try #require(Hex.decode(hex)) }

  private static func messages(_ sync: ActualSync) throws -> [LogMessage] {
    var (all, place) = ([LogMessage](), 0)
    while true {
      let some = try sync.messages(from: &place)
      guard !some.isEmpty else { return all }
      all += some
    }
  }

  private static func answer(_ messages: [LogMessage], trie: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for message in messages { ActualSync.write(message, to: &bytes) }
    ActualSync.write(trie: Array(trie.utf8), to: &bytes)
    return bytes
  }

  @Test func `a request of another library is read`() throws {
    let sync = try ActualSync(Self.bytes(Self.request))
    #expect(sync.file == "0f8fad5b-d9cb-469f-a165-70867728950e")
    #expect(sync.group == "7c9e6679-7425-40de-944b-e07fc1f90ae7")
    #expect(sync.key == "k")
    #expect(sync.since.description == Self.since)
    #expect(sync.latest?.description == Self.stamps[2])
    #expect(sync.messageCount == 3)
    #expect(try Self.messages(sync).map(\.timestamp.description) == Self.stamps)
  }

  @Test func `an answer has the bytes of another library`() throws {
    let messages = try Self.messages(ActualSync(Self.bytes(Self.request)))
    #expect(try Self.answer(messages, trie: "{}") == Self.bytes(Self.envelopes + "12027b7d"))
    let long = Envelope(Self.stamps[0], [UInt8](repeating: 0x78, count: 300))
    let answer = Self.answer(
      try Self.messages(ActualSync(Envelope.request([long]))), trie: #"{"hash":1}"#)
    #expect(Hex.encode(answer.prefix(4)) == "0adf020a")
    #expect(answer.count == 354 + 12)
  }

  @Test func `what is empty is absent, and fields that no one knows are skipped`() throws {
    var body = Envelope.request([], file: "", group: "", key: "")
    body += try Self.bytes("2201ff" + "3a0161" + "4005" + "4d01020304" + "510102030405060708")
    let sync = try ActualSync(body)
    #expect(sync.file == nil)
    #expect(sync.group == nil)
    #expect(sync.key == nil)
    #expect(sync.latest == nil)
    #expect(sync.messageCount == 0)
    #expect(try ActualSync(Envelope.request([], file: "a") + Self.bytes("120162")).file == "b")
  }

  @Test func `a request needs a timestamp to begin with, in its one form`() throws {
    #expect(throws: ActualRefusal.sinceMissing) { try ActualSync([]) }
    #expect(throws: ActualRefusal.sinceMissing) { try ActualSync(Envelope.request([], since: "")) }
    for since in ["now", "2024-05-01", String(Self.since.dropLast())] {
      #expect(throws: ActualRefusal.sinceInvalid) {
        try ActualSync(Envelope.request([], since: since))
      }
    }
  }

  @Test func `one message that is not as it must be refuses all of them`() throws {
    let good = Envelope(Self.stamps[0], [1])
    for stamp in ["", "now", "2024-05-01T12:00:00.000Z-00ff-0123456789abcdef"] {
      #expect(throws: ActualRefusal.timestampInvalid) {
        try ActualSync(Envelope.request([good, Envelope(stamp, [1])]))
      }
    }
    let long = Envelope(Self.stamps[1], [UInt8](repeating: 1, count: 65_536))
    #expect(throws: ActualRefusal.messageTooLong) {
      try ActualSync(Envelope.request([good, long]))
    }
    let fitting = Envelope(Self.stamps[1], [UInt8](repeating: 1, count: 65_528))
    #expect(try ActualSync(Envelope.request([good, fitting])).messageCount == 2)
  }

  @Test(arguments: [
    "ff", "00", "0a", "0a05", "0aff", "0affffffffffffffffff01", "0affffffffffffffffffff01", "0b",
    "0c", "0e", "0f", "12ff01", "1202c328", "4d0102", "51010203", "0affffffff0f", "0a020a05",
    "0a0110", "02",
  ])
  func `junk is refused and read no further than it goes`(hex: String) throws {
    let junk = try Self.bytes(hex)
    #expect(throws: ActualRefusal.syncMalformed) { try ActualSync(junk) }
    #expect(throws: ActualRefusal.syncMalformed) { try ActualSync(Envelope.request([]) + junk) }
  }

  @Test func `a name is at most 256 bytes`() throws {
    let name = String(repeating: "é", count: 128)
    #expect(try ActualSync(Envelope.request([], file: name)).file == name)
    #expect(throws: ActualRefusal.syncMalformed) {
      try ActualSync(Envelope.request([], file: name + "e"))
    }
  }

  @Test func `any bytes are read or refused`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "ActualSyncTests"))
    let whole = try Self.bytes(Self.request)
    for _ in 0..<20_000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      let sync: ActualSync
      do {
        sync = try ActualSync(Array(bytes.prefix(.random(in: 0...whole.count, using: &random))))
      } catch { continue }
      #expect(try Self.messages(sync).count == sync.messageCount)
    }
  }

  @Test func `a long request is taken in parts of 5,000 messages and a mebibyte`() throws {
    func envelope(_ number: Int, _ count: Int) -> Envelope {
      let digits = String(number + 10_000)
      return Envelope(
        "2024-05-01T12:00:00.000Z-0000-00000000000\(digits)", [UInt8](repeating: 7, count: count))
    }
    func counts(_ envelopes: [Envelope]) throws -> [Int] {
      let sync = try ActualSync(Envelope.request(envelopes))
      var (counts, place) = ([Int](), 0)
      while true {
        let messages = try sync.messages(from: &place)
        guard !messages.isEmpty else { return counts }
        counts.append(messages.count)
      }
    }
    #expect(try counts((0..<12_000).map { envelope($0, 1) }) == [5000, 5000, 2000])
    #expect(try counts((0..<40).map { envelope($0, 60_000) }) == [18, 18, 4])
  }

  @Test func `the texts of refusals are those that clients compare with`() throws {
    let lines = ActualRefusal.allCases.map { refusal in
      let response = refusal.problem.response(requestID: "id")
      guard case .bytes(let body) = response.body else { return "" }
      let type = response.headers.first { $0.name == "Content-Type" }?.value ?? ""
      return "\(response.status)  \(type)  \(String(decoding: body, as: UTF8.self))\n"
    }
    try expectGolden(lines.joined(), "actual-refusals")
  }
}

/// A message as a client of Actual sends it.
private struct Envelope {
  let stamp: String
  let content: [UInt8]

  init(_ stamp: String, _ content: [UInt8]) { (self.stamp, self.content) = (stamp, content) }

  static func request(
    _ envelopes: [Envelope], file: String = "f", group: String = "g", key: String = "",
    since: String = "1970-01-01T00:00:00.000Z-0000-0123456789abcdef"
  ) -> [UInt8] {
    envelopes.flatMap { field(1, field(1, Array($0.stamp.utf8)) + field(3, $0.content)) }
      + field(2, Array(file.utf8)) + field(3, Array(group.utf8)) + field(5, Array(key.utf8))
      + field(6, Array(since.utf8))
  }

  private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
    var (bytes, rest) = ([number << 3 | 2], content.count)
    while rest >= 128 {
      bytes.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return bytes + [UInt8(rest)] + content
  }
}
