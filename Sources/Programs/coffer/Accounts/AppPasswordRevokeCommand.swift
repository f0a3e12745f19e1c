import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON

extension Command {
  private static let password = Parameter<String>.required(
    "app-password", text: "its id, as in coffer app-password list", .text)

  static let appPasswordRevoke = Command(
    words: ["app-password", "revoke"],
    abstract: "Revoke an account's app password",
    discussion: """
      Apps that logged in with it are signed out with their next request. Budgets and the account's other \
      passwords stay.
      """,
    examples: ["coffer app-password revoke ada 7k2mq0x9zd --reason \"lost laptop\" --yes"],
    arguments: [CommonArguments.account, password],
    options: Act.options,
    answers: Act.answers(["account": .text, "revoked": .text]),
    run: { invocation in
      let id = invocation[password]
      return try Act.whenConfirmed(invocation) { transaction, _ in
        let (account, _) = try DatabaseSession.lockedAccount(transaction, invocation)
        guard let revoked = try AppPassword.revoke(transaction, id, of: account.id) else {
          throw CommandFailure(.refused, "account \(account.id) has no such app password")
        }
        return Act.Effect(
          subject: id, account: account.id,
          before: ["label": .string(revoked.label), "state": "valid"],
          after: ["label": .string(revoked.label), "state": "revoked"], text: "revoked  \(id)\n",
          members: [
            .init("account", .string(account.id.description)), .init("revoked", .string(id)),
          ])
      }
    })
}
