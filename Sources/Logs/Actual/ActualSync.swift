/// What a client of Actual sends to `POST /sync/sync`: its new messages, and since when it wants those of others.
///
/// All is checked before anything is stored, but for messages and ciphertexts, which are bytes of the clients' own.
package struct ActualSync: Sendable {
  /// The file, as the client names it; nil if it names none.
  package let file: String?
  /// The client's epoch of the file; nil if it knows none.
  package let group: String?
  /// The key under which the client encrypts; nil if it does not.
  package let key: String?
  package let since: LogTimestamp
  /// The latest timestamp of the messages; nil if there are none.
  package let latest: LogTimestamp?
  private let body: [UInt8]
  /// The places of the messages' envelopes.
  private let envelopes: [Range<Int>]

  /// The longest body: a little less than the server holds for one client (`ServerLimits`). Each message takes at least
  /// 50 bytes of it. Actual's own server takes 20 MiB. For that the server would have to hold more for every client, and
  /// a client with so many changes has another way: it uploads the budget.
  static let bodyByteCountMax = 15 << 20
  /// The longest name of a file, an epoch or a key.
  private static let nameByteCountMax = 256
  /// What one transaction appends: about as much as one native request.
  private static let sliceCountMax = LogBatch.messageCountMax
  private static let sliceByteCountMax = LogBatch.bodyByteCountMax

  package init(_ body: [UInt8]) throws(ActualRefusal) {
    var names: [UInt64: String] = [:]
    var envelopes: [Range<Int>] = []
    var latest: LogTimestamp?
    var fault: ActualRefusal?
    do throws(ProtobufError) {
      var reader = ProtobufReader(body, body.indices)
      while let (field, value) = try reader.next() {
        guard case .bytes(let place) = value else { continue }
        switch field {
        // After a fault nothing of them matters. A body may have millions.
        case 1 where fault == nil:
          let envelope = try ActualEnvelope(body, place)
          guard let timestamp = LogTimestamp(Array(body[envelope.timestamp])) else {
            fault = .timestampInvalid
            continue
          }
          if envelope.keptByteCount > LogMessage.contentByteCountMax { fault = .messageTooLong }
          latest = max(latest ?? timestamp, timestamp)
          envelopes.append(place)
        case 2, 3, 5, 6:
          guard place.count <= Self.nameByteCountMax,
            let text = String(validating: body[place], as: UTF8.self)
          else { throw ProtobufError() }
          names[field] = text
        default: break
        }
      }
    } catch {
      throw .syncMalformed
    }
    func name(_ field: UInt64) -> String? { names[field].flatMap { $0.isEmpty ? nil : $0 } }
    guard let text = name(6) else { throw .sinceMissing }
    guard let since = LogTimestamp(text) else { throw .sinceInvalid }
    if let fault { throw fault }
    self.body = body
    self.envelopes = envelopes
    self.since = since
    self.latest = latest
    file = name(2)
    group = name(3)
    key = name(5)
  }

  package var messageCount: Int { envelopes.count }

  /// The messages in order, as many as one transaction appends; none after the last ones. `place` is 0 for the first.
  package func messages(from place: inout Int) throws -> [LogMessage] {
    var messages: [LogMessage] = []
    var byteCount = 0
    while place < envelopes.count, messages.count < Self.sliceCountMax,
      byteCount < Self.sliceByteCountMax
    {
      let envelope = try ActualEnvelope(body, envelopes[place])
      guard let timestamp = LogTimestamp(Array(body[envelope.timestamp])) else {
        throw ActualRefusal.timestampInvalid
      }
      messages.append(LogMessage(timestamp, envelope.kept(of: body)))
      byteCount += envelopes[place].count
      place += 1
    }
    return messages
  }

  /// Adds a message to an answer. What is kept of it follows its timestamp in the envelope.
  package static func write(_ message: LogMessage, to bytes: inout [UInt8]) {
    let timestamp = message.timestamp.text
    ProtobufWriter.begin(
      field: 1, byteCount: 2 + timestamp.count + message.content.count, in: &bytes)
    ProtobufWriter.write(field: 1, timestamp, to: &bytes)
    bytes += message.content
  }

  /// Ends an answer with the trie, which is JSON.
  package static func write(trie: [UInt8], to bytes: inout [UInt8]) {
    ProtobufWriter.write(field: 2, trie, to: &bytes)
  }
}
