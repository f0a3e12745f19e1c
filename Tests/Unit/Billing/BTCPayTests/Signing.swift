import Base
import Crypto

/// The header that a server sends with a body.
enum Signing {
  static func header(_ body: [UInt8], _ secret: Secret) -> String {
    "sha256=" + Hex.encode(HMACSHA256.code(key: secret, body))
  }
}
