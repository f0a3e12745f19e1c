import Accounts
import Acts
import CommandLine
import JSON

extension Command {
  static let appPasswordList = Command(
    words: ["app-password", "list"],
    abstract: "List an account's app passwords, oldest first",
    discussion: "The passwords themselves are not stored. USED is the time of the last log-in.",
    examples: ["coffer app-password list ada"],
    arguments: [CommonArguments.account],
    options: [],
    answers: .object([passwords.memberShape]),
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        let account = try DatabaseSession.account(reader, invocation[CommonArguments.account])
        let all = try AppPassword.list(reader, of: account.id)
        return Answer(text: passwords.text(all, at: now), json: .object([passwords.member(all)]))
      }
    })

  private static var passwords: Listing<AppPassword> {
    Listing(
      "app_passwords",
      [
        .text("app_password", "ID") { $0.id }, .text("label", "LABEL") { $0.label },
        .time("created", "CREATED") { $0.created }, .optionalTime("used", "USED") { $0.used },
      ])
  }
}
