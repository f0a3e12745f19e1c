import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON
import PublicLinks

extension Command {
  private static let link = Parameter<Identifier>.required(
    "link", text: "its id, as in coffer link list", .uuid(of: "a link"))

  static let linkRevoke = Command(
    words: ["link", "revoke"],
    abstract: "End a public link of an account",
    discussion: """
      Its URL answers nothing from now on. Copies in caches last for as long as the owner chose, a day at most. \
      The owner can publish again under another URL: coffer account suspend prevents that.
      """,
    examples: [
      "coffer link revoke ada 5f0c2c8e-58f2-4c0e-9d1a-6f1d2a3b4c5d --reason \"report 4\" --yes"
    ],
    arguments: [CommonArguments.account, link],
    options: Act.options,
    answers: Act.answers(["account": .text, "revoked": .text]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(invocation) { database, configuration in
        let id = invocation[link]
        return try Act(invocation, on: database).whenConfirmed { transaction, now in
          let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
          guard let found = try PublicLink.find(transaction, id, of: account.id) else {
            throw CommandFailure(.refused, "account \(account.id) has no such link")
          }
          var owners = try LockedOwners(transaction, [account.id])
          try LinkWrite(
            transaction, of: account.id, catalogue: configuration.catalogue, now: now
          ).end([found], &owners)
          return Act.Effect(
            subject: id.description, account: account.id,
            before: ["bytes": .integer(found.byteCount), "state": "served"],
            after: ["bytes": .integer(0), "state": "revoked"], text: "revoked  \(id)\n",
            members: [
              .init("account", .string(account.id.description)),
              .init("revoked", .string(id.description)),
            ])
        }
      }
    })
}
