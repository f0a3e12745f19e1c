import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Sync
import Tiers

extension Command {
  private static let folder = Parameter<Identifier>.required(
    "folder", text: "id of the folder", .uuid(of: "a file"))
  private static let size = Parameter<String>.required(
    "size", text: "bytes, e.g. 500000000, 500MB or 2TB, or none", .text)

  static let treeCap = Command(
    words: ["tree", "cap"],
    abstract: "Set how many bytes a folder of an account may hold",
    discussion: """
      A folder holds everything that the account is charged for below it: live records, versions and trash. A \
      write beyond the cap is refused, whoever makes it. A folder above its cap keeps its data and cannot add \
      to it. Folders within it may have caps of their own.
      """,
    examples: [
      "coffer tree cap ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d 5GB --reason \"ticket 4\" --yes",
      "coffer tree cap ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d none --reason \"ticket 4\" --yes",
    ],
    arguments: [CommonArguments.account, folder, size],
    options: Act.options,
    answers: Act.answers([
      "account": .text, "folder": .text, "cap": .orNull(.integer), "used": .orNull(.integer),
    ]),
    run: { invocation in
      let (folder, size) = (invocation[folder], invocation[size])
      let byteCount = size == "none" ? nil : ByteCount.read(size)
      guard byteCount != nil || size == "none" else {
        throw CommandFailure(.usage, "\(size) is no size, e.g. 500000000, 500MB, 2TB or none")
      }
      return try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        try Act(invocation, on: database).whenConfirmed { transaction, now in
          let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
          let before = try FolderCap.find(transaction, folder)
          let after = try FolderCap.set(
            transaction, folder, of: account.id, byteCount: byteCount,
            fee: configuration.catalogue.metadataFeeByteCount)
          let used = after?.usedByteCount
          func state(_ cap: FolderCap?) -> JSONValue {
            ["cap": cap.map { .integer($0.byteCount) } ?? .null]
          }
          return Act.Effect(
            subject: folder.description, account: account.id, before: state(before),
            after: state(after),
            text: "cap   \(after.map { ByteCount.text($0.byteCount) } ?? "-")\n"
              + "used  \(used.map(ByteCount.text) ?? "-")\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("folder", .string(folder.description)),
              .init("cap", after.map { .integer($0.byteCount) } ?? .null),
              .init("used", used.map { .integer($0) } ?? .null),
            ])
        }
      }
    })
}
