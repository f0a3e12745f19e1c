import Base
import JSON
import Requests

struct NewLog: Sendable {
  let id: Identifier
  let name: [UInt8]
  var key: [UInt8]?

  static let nameByteCountMax = 512
  static let keyByteCountMax = 1024
}

extension NewLog {
  init(_ body: [UInt8]) throws(RequestRefusal) {
    let json = try JSON.body(body)
    try json.requireMembers(["id", "name", "key"])
    id = try json["id"].identifier()
    name = try json["name"].base64(byteCount: 1...Self.nameByteCountMax)
    key = try json["key"].exists ? Self.key(json) : nil
  }

  /// The member `key`, which may be null.
  static func key(_ json: JSON) throws(RequestRefusal) -> [UInt8]? {
    json["key"].isNull ? nil : try json["key"].base64(byteCount: 1...keyByteCountMax)
  }
}
