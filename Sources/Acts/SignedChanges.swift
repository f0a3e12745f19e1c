import Base
package import CommandLine
import Configuration
package import Crypto
import JSON

/// A batch of changes that a person wrote, completed with what only a device can add.
package enum SignedChanges {
  /// The body of `POST /v1/files` with author and signatures, made from one without them.
  ///
  /// Each signature is by `key` over the canonical form (RFC 8785) of the change's `file` or `share`.
  package static func body(_ bytes: [UInt8], by key: Ed25519PrivateKey) throws(CommandFailure)
    -> [UInt8]
  {
    let json: JSON
    do { json = try JSON.parse(bytes) } catch {
      throw CommandFailure(.usage, "--sign-changes takes JSON: \(error.path): \(error.message)")
    }
    guard let members = json.members else { throw misfit(json, "must be an object") }
    var signed: [JSONValue.Member] = [
      .init("author", .string(Base64.standard.encode(key.publicKey.bytes)))
    ]
    for (name, value) in members {
      switch name {
      case "files": signed.append(.init(name, try sign("file", of: value, by: key)))
      case "shares": signed.append(.init(name, try sign("share", of: value, by: key)))
      default: throw misfit(value, "is neither files nor shares")
      }
    }
    return JSONValue.object(signed).encoded()
  }

  private static func sign(
    _ name: String, of list: JSON, by key: Ed25519PrivateKey
  ) throws(CommandFailure) -> JSONValue {
    guard let changes = list.array else { throw misfit(list, "must be an array") }
    var signed: [JSONValue] = []
    for change in changes {
      guard !change["signature"].exists else {
        throw misfit(change["signature"], "is what --sign-changes adds")
      }
      guard case .object(let members) = JSONValue(change),
        let statement = JSONValue(change[name]), isSignable(statement)
      else { throw misfit(change, "must be an object with a \(name), without numbers") }
      let signature = key.signature(for: JSONValue.object([.init(name, statement)]).canonical())
      signed.append(
        .object(members + [.init("signature", .string(Base64.standard.encode(signature)))]))
    }
    return .array(signed)
  }

  /// Statements hold no numbers, because not all numbers have a canonical form.
  private static func isSignable(_ value: JSONValue) -> Bool {
    switch value {
    case .integer: false
    case .null, .bool, .string: true
    case .array(let values): values.allSatisfy(isSignable)
    case .object(let members): members.allSatisfy { isSignable($0.value) }
    }
  }

  private static func misfit(_ json: JSON, _ rule: String) -> CommandFailure {
    CommandFailure(.usage, "the body of --sign-changes: \(json.path) \(rule)")
  }
}
