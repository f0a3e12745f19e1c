import Base
import Crypto
import JSON
import TestDevices

/// What a device asks about documents.
enum DocumentAct {
  case push([Version])
  case pull(Clock, String?, DocumentModel.Place?, limit: Int)
  case history(Identifier)

  var name: String {
    switch self {
    case .push(let batch): "push \(batch.count)"
    case .pull(_, let cursor, _, _): cursor == nil ? "pull" : "pull on"
    case .history: "history"
    }
  }

  func request(by device: TestDevice) -> TestDevice.Signed {
    switch self {
    case .push(let batch):
      device.sign(
        "POST", "/v1/documents",
        body: JSONValue.object([
          .init("versions", .array(batch.map { $0.signed(by: device.key) }))
        ]).encoded())
    case .pull(let clock, let cursor, _, let limit):
      device.sign(
        "POST", "/v1/documents/pull",
        body: JSONValue.object([
          .init("clock", Version.json(clock)),
          .init("cursor", cursor.map { .string($0) } ?? .null),
          .init("limit", .integer(Int64(limit))),
        ]).encoded())
    case .history(let document): device.sign("GET", "/v1/documents/\(document)/versions")
    }
  }
}

/// A request that a device has signed. The network may lose it, repeat it, or bring it later.
struct SentAct {
  let number: Int
  let act: DocumentAct
  let account: Identifier
  let device: TestDevice
  let request: TestDevice.Signed
}
