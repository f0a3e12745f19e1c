import Base
import Crypto
import JSON
import Requests
import TestDevices

/// What a device asks about a log.
enum Act {
  case create
  case append(epoch: Identifier, [Message])
  /// A page in the order of arrival, from a cursor on.
  case after(String?, limit: Int)
  /// A page in the order of timestamps.
  case since(Stamp, limit: Int)
  case log
  case children(String)
  case snapshot
  case putSnapshot([UInt8], covers: String, version: Int64)
  case beginEpoch(covers: String)
  case delete
  /// The owner lets another account read the log, or append to it, too.
  case grant(Identifier, LogModel.Mode)
  /// That account accepts.
  case accept
  /// Either of both ends the share with an account.
  case endShare(Identifier)

  /// Whether the server keeps the answer for a repeat of the same request.
  var isRecorded: Bool {
    switch self {
    case .create, .putSnapshot, .beginEpoch, .delete, .grant, .accept, .endShare: true
    case .append, .after, .since, .log, .children, .snapshot: false
    }
  }

  var name: String {
    switch self {
    case .create: "create"
    case .append(_, let batch): "append \(batch.count)"
    case .after: "read on"
    case .since(let stamp, _): "read since \(stamp.text)"
    case .log: "log"
    case .children(let path): "children of \(path)"
    case .snapshot: "snapshot"
    case .putSnapshot(let bytes, _, _): "put a snapshot of \(bytes.count)"
    case .beginEpoch: "begin an epoch"
    case .delete: "delete"
    case .grant(_, let mode): "grant \(mode)"
    case .accept: "accept"
    case .endShare: "end a share"
    }
  }

  func request(
    on log: Identifier, by device: TestDevice, of account: Identifier
  ) -> TestDevice.Signed {
    let path = "/v1/logs/\(log)"
    func post(_ target: String, _ body: JSONValue) -> TestDevice.Signed {
      device.sign("POST", target, body: body.encoded())
    }
    switch self {
    case .create:
      return post("/v1/logs", ["id": .string(log.description), "name": .base64([1, 2, 3])])
    case .append(let epoch, let batch):
      return post(
        "\(path)/messages",
        [
          "epoch": .string(epoch.description),
          "messages": .array(
            batch.map { ["t": .string($0.stamp.text), "c": .base64($0.content)] }),
        ])
    case .after(let cursor, let limit):
      let after = cursor.map { "&cursor=\($0)" } ?? ""
      return device.sign("GET", "\(path)/messages?limit=\(limit)\(after)")
    case .since(let stamp, let limit):
      return device.sign("GET", "\(path)/messages?limit=\(limit)&since=\(stamp.text)")
    case .log: return device.sign("GET", path)
    case .children(let digits): return device.sign("GET", "\(path)/trie?path=\(digits)")
    case .snapshot: return device.sign("GET", "\(path)/snapshot")
    case .putSnapshot(let bytes, let covers, let version):
      return device.sign(
        "PUT", "\(path)/snapshot?covers=\(covers)", body: bytes,
        headers: [("If-Match", "\"\(version)\"")])
    case .beginEpoch(let covers): return post("\(path)/epochs", ["covers": .string(covers)])
    case .delete: return device.sign("DELETE", path)
    case .grant(let other, let mode):
      return device.sign(
        "PUT", "\(path)/shares/\(other)",
        body: Self.signedGrant(of: log, to: other, mode, by: device).encoded())
    case .accept:
      let body = JSONValue.object([.init("state", "accepted")])
      return device.sign("PUT", "\(path)/shares/\(account)", body: body.encoded())
    case .endShare(let other): return device.sign("DELETE", "\(path)/shares/\(other)")
    }
  }

  private static func signedGrant(
    of log: Identifier, to account: Identifier, _ mode: LogModel.Mode, by device: TestDevice
  ) -> JSONValue {
    let terms: [JSONValue.Member] = [
      .init("state", "granted"), .init("mode", .string(mode.rawValue)), .init("key", .base64([7])),
    ]
    let share = JSONValue.object(
      terms + [
        .init("account", .string(account.description)), .init("log", .string(log.description)),
      ])
    let signature = device.key.signature(
      for: JSONValue.object([.init("log_share", share)]).canonical())
    return .object(terms + [.init("signature", .base64(signature))])
  }
}

/// A request that a device has signed. The network may lose it, repeat it, or bring it later.
struct Sent {
  let number: Int
  let act: Act
  let log: Identifier
  let account: Identifier
  let device: TestDevice
  let request: TestDevice.Signed
}

/// A message that a page has.
extension Message {
  init?(_ json: JSON) {
    guard let stamp = json["t"].string.flatMap({ Stamp($0) }), let content = json["c"].base64 else {
      return nil
    }
    self.init(stamp, content)
  }
}
