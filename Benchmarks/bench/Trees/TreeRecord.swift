import Base
import Crypto

/// A record as a device states and signs it.
struct TreeRecord {
  var id: Identifier
  var owner: Identifier
  var parent: Identifier
  var isFolder: Bool
  /// The seed of the encrypted name; another seed gives another name.
  var nameSeed: [UInt8]
  var isDeleted = false

  var hmac: [UInt8] { SHA256.hash(nameSeed) }
  var ciphertext: [UInt8] { (0..<6).flatMap { _ in hmac } }
  var key: [UInt8] { (0..<3).flatMap { _ in SHA256.hash(id.bytes) } }

  /// The members in the order of RFC 8785. None of their texts needs an escape.
  private var object: String {
    let name =
      "{\"ciphertext\":\"\(Base64.standard.encode(ciphertext))\","
      + "\"hmac\":\"\(Base64.standard.encode(hmac))\"}"
    return "{\"deleted\":\(isDeleted),\"id\":\"\(id)\",\"key\":\"\(Base64.standard.encode(key))\","
      + "\"name\":\(name),\"owner\":\"\(owner)\",\"parent\":\"\(parent)\","
      + "\"type\":\"\(isFolder ? "folder" : "document")\"}"
  }

  func signature(by key: Ed25519PrivateKey) -> [UInt8] {
    key.signature(for: Array("{\"file\":\(object)}".utf8))
  }

  /// One member of a batch's `files`; `before` is nil for a new record.
  func change(from before: TreeRecord?, signedBy key: Ed25519PrivateKey) -> String {
    let signature = signature(by: key)
    let expect =
      before.map { before in
        "{\"parent\":\"\(before.parent)\",\"hmac\":\"\(Base64.standard.encode(before.hmac))\"}"
      } ?? "\"new\""
    return "{\"expect\":\(expect),\"file\":\(object),"
      + "\"signature\":\"\(Base64.standard.encode(signature))\"}"
  }

  static func batch(_ changes: [String], author: Ed25519PrivateKey) -> [UInt8] {
    let author = Base64.standard.encode(author.publicKey.bytes)
    return Array("{\"author\":\"\(author)\",\"files\":[\(changes.joined(separator: ","))]}".utf8)
  }
}
