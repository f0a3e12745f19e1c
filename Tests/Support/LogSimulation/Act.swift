import Base
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

  /// Whether the server keeps the answer for a repeat of the same request.
  var isRecorded: Bool {
    switch self {
    case .create, .putSnapshot, .beginEpoch, .delete: true
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
    }
  }

  func request(on log: Identifier, by device: TestDevice) -> TestDevice.Signed {
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
    }
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
