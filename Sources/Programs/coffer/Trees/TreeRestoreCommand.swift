import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import Sync
import Tiers

extension Command {
  private static let file = Parameter<Identifier>.required(
    "file", text: "id of the file", .uuid(of: "a file"))
  private static let version = Parameter<Int64?>.optional(
    "--to", "version", text: "VERSION of coffer tree history (default: restore a deleted file)",
    .number(in: 1...Int64.max))

  static let treeRestore = Command(
    words: ["tree", "restore"],
    abstract: "Restore a deleted file, or an earlier version of a document",
    discussion: """
      A deleted file comes back from the trash in its folder and under its name, with everything that was \
      deleted with it. That takes some seconds if it is much. Links in it do not come back: the shares that they \
      accepted are pending again. Only the owner's app can give it another folder or name, because it must sign \
      them. With --to, a version becomes the content of \
      its document, and the replaced content becomes a version itself. Devices get either with their next \
      update.
      """,
    examples: [
      "coffer tree restore ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d --reason \"ticket 4\" --yes",
      "coffer tree restore ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d --to 17 --reason \"ticket 4\" --yes",
    ],
    arguments: [CommonArguments.account, file],
    options: [version] + Act.options,
    answers: Act.answers([
      "account": .text, "file": .text, "version": .orNull(.integer), "links": .integer,
    ]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let (file, number) = (invocation[file], invocation[version])
        return try Act(invocation, on: database).whenConfirmed { transaction, now in
          let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
          let (before, after): (JSONValue, JSONValue)
          var (version, links) = (Int64?.none, Int64(0))
          if let number {
            let restored = try OperatorRestore.perform(
              transaction, file, of: account.id, version: number,
              catalogue: configuration.catalogue, now: now)
            version = restored.after
            (before, after) = (
              ["version": .integer(restored.before)], ["version": .integer(restored.after)]
            )
          } else {
            do {
              links = try TrashRequests.restore(
                transaction, file, of: account.id,
                fee: configuration.catalogue.metadataFeeByteCount, now: now
              ).linkCount
            } catch Refusal.batchRefused {
              // In its own folder and under its own name it can break no other rule.
              throw CommandFailure(
                .refused,
                "its folder has moved, so that the tree would have too many levels; the owner's app can restore "
                  + "the file into another folder")
            }
            (before, after) = (["deleted": true], ["deleted": false])
          }
          return Act.Effect(
            subject: file.description, account: account.id, before: before, after: after,
            text: "restored  \(file)\n" + (version.map { "version   \($0)\n" } ?? "")
              + (links == 0 ? "" : "links     \(links) not restored: their shares are pending\n"),
            members: [
              .init("account", .string(account.id.description)),
              .init("file", .string(file.description)),
              .init("version", version.map { .integer($0) } ?? .null),
              .init("links", .integer(links)),
            ])
        }
      }
    })
}
