package import Base
import Crypto
package import JSON

/// Decides from the directory, without trusting the server, whether a key belongs to an account.
///
/// It does if the account's id is made of it. It also does if a statement that it belongs to the account is
/// signed by the key itself and by another key that belongs to the account.
package struct KeyChain {
  /// The directory's answer about one key; nil if it does not know the key.
  private let entry: (_ key: [UInt8]) throws -> JSON?

  /// `ask` is called for each key on the way, in base64url.
  package init(_ ask: @escaping (_ key: String) throws -> JSON) {
    entry = { key in
      try ask(Base64.url.encode(key))["keys"].array?.first {
        $0["public_key"].string == Base64.standard.encode(key)
      }
    }
  }

  package func proves(_ key: [UInt8], of account: Identifier) throws -> Bool {
    var seen: Set<[UInt8]> = []
    var current = key
    while seen.insert(current).inserted {
      if Self.account(openedBy: current) == account { return true }
      guard let author = try author(of: current, for: account) else { return false }
      current = author
    }
    return false
  }

  /// A UUID of version 8 of the first bits of SHA-256 of `coffer account:` and the key.
  package static func account(openedBy key: [UInt8]) -> Identifier {
    var bytes = Array(SHA256.hash(Array("coffer account:".utf8) + key)[..<16])
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return Identifier(bytes: bytes)!
  }

  /// The other key that signed the statement; nil if the statement is not valid.
  private func author(of key: [UInt8], for account: Identifier) throws -> [UInt8]? {
    guard let told = try entry(key)?["device"], let created = told["created"].integer,
      let author = bytes(told["author"]), author != key
    else { return nil }
    let statement = KeyStatement(.device, account: account, key: key, created: created)
    let holds = [(key, told["proof"]), (author, told["signature"])].allSatisfy { signer, text in
      guard let signature = bytes(text), let signer = Ed25519PublicKey(bytes: signer) else {
        return false
      }
      return signer.isValid(signature: signature, for: statement.signedBytes)
    }
    return holds ? author : nil
  }

  private func bytes(_ json: JSON) -> [UInt8]? { json.string.flatMap(Base64.standard.decode) }
}
