import Base
import Crypto
import JSON
import Requests
import TestDevices

typealias Key = [UInt8]

/// A message as a device sends it.
struct Message: Equatable {
  let id: Identifier
  let receivers: [Key]
  let body: [UInt8]
}

/// A receiver that does not take a message.
struct Refused: Equatable {
  let key: Key
  let reason: String
}

/// Key packages as a device offers them.
struct Offer: Equatable {
  let packages: [[UInt8]]
  let lastResort: [UInt8]?
}

/// What a device asks about mailboxes and key packages.
enum MailboxAct {
  case send(Message)
  case read(after: Int64, limit: Int)
  case acknowledge(Int64, error: String?)
  case offer(Offer)
  case claim(Key)

  var name: String {
    switch self {
    case .send(let message): "send to \(message.receivers.count)"
    case .read: "read"
    case .acknowledge: "acknowledge"
    case .offer(let offer): "offer \(offer.packages.count)"
    case .claim: "claim"
    }
  }

  func request(by device: TestDevice) -> TestDevice.Signed {
    switch self {
    case .send(let message):
      device.sign(
        "POST", "/v1/messages",
        body: JSONValue.object([
          .init("id", .string(message.id.description)),
          .init("to", .array(message.receivers.map { .base64($0) })),
          .init("body", .base64(message.body)),
        ]).encoded())
    case .read(let number, let limit):
      device.sign("GET", "/v1/mailbox?after=\(number)&limit=\(limit)")
    case .acknowledge(let number, let error):
      device.sign("DELETE", "/v1/mailbox/\(number)" + (error.map { "?error=\($0)" } ?? ""))
    case .offer(let offer):
      device.sign(
        "POST", "/v1/key-packages",
        body: JSONValue.object([
          .init("key_packages", .array(offer.packages.map { .base64($0) })),
          .init("last_resort", .base64(offer.lastResort)),
        ]).encoded())
    case .claim(let key):
      device.sign("POST", "/v1/devices/\(Base64.url.encode(key))/key-packages/claim")
    }
  }
}

/// A request that a device has signed. The network may lose it, repeat it, or bring it later.
struct SentAct {
  let number: Int
  let act: MailboxAct
  let device: TestDevice
  let request: TestDevice.Signed

  var key: Key { device.key.publicKey.bytes }
}
