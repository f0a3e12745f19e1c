import Base
import Crypto
import JSON
import Requests

/// Where and under which name a deleted file comes back, if not as it was. Its author signs the new record, as in a
/// batch: the server knows neither names nor keys.
package struct Placement: Sendable {
  let author: [UInt8]
  let statement: FileRecord.Statement
  let signature: [UInt8]

  /// Reads the body of a restore, and checks the signature.
  init(_ json: JSON, of file: Identifier, counting signatures: SignatureCounter) throws {
    try json.requireMembers(["author", "file", "signature"])
    author = try json["author"].base64(byteCount: 32...32)
    statement = try FileRecord.Statement(json["file"])
    signature = try json["signature"].base64(byteCount: 64...64)
    guard statement.id == file, !statement.isDeleted else {
      throw RequestRefusal.bodyInvalid(
        path: "$.file", rule: "must be the record of the restored file, not deleted")
    }
    signatures.countStatement()
    let key = Ed25519PublicKey(bytes: author)
    guard key?.isValid(signature: signature, for: statement.signed) == true else {
      throw Refusal.batchRefused([Failure(file: file, account: nil, rule: .signatureInvalid)])
    }
  }

  /// Refuses what a batch would refuse of a file that moves into the folder, except that it would be too deep.
  func require(_ file: FileRecord, below folder: AncestorTree.Node) throws(Refusal) {
    let rules: [(rule: Rule, isBroken: Bool)] = [
      (.typeImmutable, statement.kind != file.kind),
      (.ownerImmutable, statement.owner != file.owner),
      (.ownerDiffers, folder.owner != file.owner), (.parentNotFolder, folder.kind != .folder),
    ]
    if let broken = rules.first(where: \.isBroken) {
      throw .batchRefused([Failure(file: file.id, account: nil, rule: broken.rule)])
    }
  }
}
