import Accounts
import Acts
import Base
import CommandLine
import Configuration
import Crypto
import JSON

extension Command {
  private static let username = Parameter<Username?>.optional(
    "--username", "name", text: "username: 1 to 32 of a-z 0-9 . _ -",
    Form(
      { Username($0) },
      refusal: { _, _ in "a username is 1 to \(Username.characterCountMax) of a-z 0-9 . _ -" }))
  private static let publicKey = Parameter<Ed25519PublicKey?>.optional(
    "--public-key", "base64", text: "the device's Ed25519 public key, 32 bytes",
    Form { text in
      Base64.standard.decode(text).flatMap { Ed25519PublicKey(bytes: $0) }
    } refusal: {
      "\($1) takes 32 bytes in base64"
    })
  private static let keyFile = Parameter<String?>.optional(
    "--key-file", "path", text: "new file for the seed of a new key", .path)
  private static let id = Parameter<Identifier?>.optional(
    "--id", "uuid", text: "account id, to recreate a lost account", .uuid)

  static let accountCreate = Command(
    words: ["account", "create"],
    abstract: "Create an account with its first device key",
    discussion: """
      Give a device's public key, or a file for a new secret seed (base64, readable by its owner only; an \
      existing file is refused). Devices usually create their accounts themselves with a signed request.
      """,
    examples: ["coffer account create --username ada --key-file ada.key"],
    options: [username, publicKey, keyFile, id] + Act.handyOptions,
    answers: Act.handyAnswers(
      AccountSummary.single.item.adding([.init("public_key", .text)])),
    run: { invocation in
      let path = invocation[keyFile]
      let key: () throws -> Ed25519PublicKey =
        switch (invocation[publicKey], path) {
        case (let key?, nil): { key }
        case (nil, let path?): { try freshKey(at: path) }
        case (nil, nil), (.some, .some):
          throw CommandFailure(.usage, "give one of --public-key and --key-file")
        }
      return try DatabaseSession.with(invocation) { database, configuration in
        let publicKey = try key()
        let id = invocation[id] ?? Account.identifier(firstKey: publicKey.bytes)
        let new = NewAccount(
          id: id, username: invocation[username], root: Random.identifier(),
          publicKey: publicKey.bytes)
        let (catalogue, now) = (configuration.catalogue, configuration.clock.now())
        do {
          return try Act(invocation, on: database).atOnce(at: now) { transaction in
            let account = try new.create(transaction, catalogue: catalogue, now: now)
            let summary = try AccountSummary(account, catalogue, at: now, reading: transaction)
            let key = Base64.standard.encode(publicKey.bytes)
            var text =
              "account     \(account.id)\nroot        \(account.root)\npublic key  \(key)\n"
            if let path { text += "secret key  \(path)\n" }
            return Act.Effect(
              subject: account.id.description, name: account.username, account: account.id,
              before: .object([]),
              after: ["public_key": .string(key)], text: text,
              members: AccountSummary.single.members(summary) + [
                .init("public_key", .string(key))
              ])
          }
        } catch let refusal as AccountRefusal {
          // No account has the key that was made for it, and another attempt must find the path free.
          if let path { OutputFile.remove(path) }
          throw refusal
        }
      }
    })

  /// The seed is on disk before the account exists, so that no account is ever made that no one can
  /// use. It is removed if the account is refused. If the database fails it stays, because the account
  /// may exist anyway.
  private static func freshKey(at path: String) throws(CommandFailure) -> Ed25519PublicKey {
    let key = Ed25519PrivateKey()
    try KeyFile.write(key, to: path)
    return key.publicKey
  }
}
