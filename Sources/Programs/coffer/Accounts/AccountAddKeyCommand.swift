import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Crypto
import JSON
import Sync

extension Command {
  private static let key = Parameter<String>.required(
    "key", text: "new device's public key in base64, or its key file", .path)
  private static let label = Parameter<String?>.optional(
    "--label", "text", text: "name of the device", .label(atMost: Device.labelCharacterCountMax))

  static let accountAddKey = Command(
    words: ["account", "add-key"],
    abstract: "Add a device key to an account that lost every device",
    discussion: """
      Verify the person first: the new key can read, write, export and delete everything in the account. \
      No other key of the account signs it, so GET /v1/account, the directory and coffer account show mark \
      it (by_operator). Each page of GET /v1/updates reports it to the other keys (operator_keys), which \
      can revoke it.

      The key gives access to the account, its purchases and its ciphertext. Data that only the lost \
      devices could decrypt stays encrypted unless the app has its own recovery. Revoke the lost devices \
      from the new one (POST /v1/revocations). Refused: a key that any account has or had, a 65th key, and \
      an account that is being deleted.
      """,
    examples: [
      "coffer account add-key ada new-device.pub --label laptop --reason \"ticket 4711\" --yes"
    ],
    arguments: [CommonArguments.account, key],
    options: [label] + Act.options,
    answers: Act.answers([
      "account": .text, "public_key": .text, "label": .text, "other_keys": .integer,
    ]),
    run: { invocation in
      let publicKey = try publicKey(invocation[key])
      let label = invocation[label] ?? ""
      return try Act.whenConfirmed(invocation) { transaction, now in
        let account = try DatabaseSession.stayingAccount(transaction, invocation)
        let others = try Device.list(transaction, of: account.id).count
        try Device.add(
          transaction, publicKey.bytes, to: account.id, label: label, statement: nil,
          isByOperator: true, now: now)
        let text = Base64.standard.encode(publicKey.bytes)
        return Act.Effect(
          subject: account.id.description, name: account.username, account: account.id,
          before: ["keys": .integer(Int64(others)), "public_key": .null],
          after: ["keys": .integer(Int64(others + 1)), "public_key": .string(text)],
          text:
            "\(text) is a key of \(account.id) now; each page of updates shows it to its \(others) other "
            + "keys\n",
          members: [
            .init("account", .string(account.id.description)), .init("public_key", .string(text)),
            .init("label", .string(label)), .init("other_keys", .integer(Int64(others))),
          ])
      }
    })

  /// A text of 32 bytes in base64 is the key itself; any other text names a file.
  private static func publicKey(_ text: String) throws(CommandFailure) -> Ed25519PublicKey {
    guard let bytes = Base64.standard.decode(text), bytes.count == Ed25519PublicKey.byteCount else {
      return try KeyFile.read(text).publicKey
    }
    guard let key = Ed25519PublicKey(bytes: bytes) else {
      throw CommandFailure(.usage, "\(text) is not an Ed25519 public key")
    }
    return key
  }
}

extension Form where Value == String {
  /// A label as the sync API takes it.
  static func label(atMost countMax: Int) -> Form {
    Form {
      $0.unicodeScalars.count <= countMax ? $0 : nil
    } refusal: {
      "\($1) has at most \(countMax) characters"
    }
  }
}
