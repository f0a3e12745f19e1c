import Accounts
import Acts
import Base
import CommandLine
import Configuration
import JSON

extension Command {
  private static let label = Parameter<String?>.optional(
    "--label", "text", text: "name of the app or its device",
    .label(atMost: AppPassword.labelCharacterCountMax))

  static let appPasswordCreate = Command(
    words: ["app-password", "create"],
    abstract: "Create a password for an account's Actual apps",
    discussion: """
      Actual's apps and actualpy log in with it. It opens the account's budgets only, and no other data. The \
      password is printed once; only its hash is stored. It is valid until coffer app-password revoke.
      """,
    examples: ["coffer app-password create ada --label laptop"],
    arguments: [CommonArguments.account],
    options: [label] + Act.handyOptions,
    answers: Act.handyAnswers(["account": .text, "app_password": .text, "password": .text]),
    run: { invocation in
      let label = invocation[label] ?? ""
      return try Act.atOnce(invocation) { transaction, now in
        let account = try DatabaseSession.stayingAccount(transaction, invocation)
        guard let made = try AppPassword.create(transaction, of: account.id, label: label, now: now)
        else {
          throw CommandFailure(
            .refused, "an account has at most \(AppPassword.countMax) app passwords; revoke one")
        }
        let password = String(decoding: made.password.exposed, as: UTF8.self)
        return Act.Effect(
          subject: made.id, account: account.id, before: .object([]),
          after: ["label": .string(label)],
          text: "app password  \(made.id)\npassword      \(password)\n",
          members: [
            .init("account", .string(account.id.description)),
            .init("app_password", .string(made.id)), .init("password", .string(password)),
          ])
      }
    })
}
