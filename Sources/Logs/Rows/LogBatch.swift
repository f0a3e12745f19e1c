import Base
import JSON
import Requests

struct LogBatch: Sendable {
  static let bodyByteCountMax = 1 << 20
  static let messageCountMax = 5000

  let epoch: Identifier
  let messages: [LogMessage]
}

extension LogBatch {
  init(_ body: [UInt8]) throws(RequestRefusal) {
    let json = try JSON.body(body)
    try json.requireMembers(["epoch", "messages"])
    epoch = try json["epoch"].identifier()
    guard let list = json["messages"].array, 1...Self.messageCountMax ~= list.count else {
      throw .bodyInvalid(
        path: "$.messages", rule: "must be a list of 1 to \(Self.messageCountMax) messages")
    }
    messages = try list.map { (json) throws(RequestRefusal) in
      try json.requireMembers(["t", "c"])
      guard let text = json["t"].utf8, let timestamp = LogTimestamp(text) else {
        throw .bodyInvalid(
          path: json["t"].path,
          rule: "must be a timestamp such as 2026-11-20T08:30:15.250Z-00FF-fedcba9876543210")
      }
      return LogMessage(
        timestamp, try json["c"].base64(byteCount: 0...LogMessage.contentByteCountMax))
    }
  }
}
