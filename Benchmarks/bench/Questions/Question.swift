/// A question of docs/cookbook.md, and the command below it.
struct Question {
  let name: String
  let words: [String]
  /// The exit code of a command that answers the question.
  var code: Int32 = 0
  /// Whether the answer requires reading everything.
  var readsAll = false

  /// The objects of the questions, all of which exist.
  struct Subject {
    /// One account of many, its purchase at Stripe, and the delivery that reported it.
    let account: String
    let other: String
    let subscription: String
    let delivery: String
    let address: String
    let key: String
    /// A catalogue in which a plan is smaller.
    let plans: String
    /// The directory of the backups, and the directory of a restored one.
    let backups: String
    let restored: String
    let sinceYesterday: String
    let nextWeek: String
  }

  /// In the order of the document, except that the backup is made before it is looked at. No question here
  /// asks a store, because that time is the store's.
  static func all(_ subject: Subject) -> [Question] {
    lookups(subject) + deliveries(subject) + wholes(subject)
  }

  static let askStores = [
    "They paid, and no delivery ever came.", "Does the store still know our key?",
  ]

  private static let yes = ["--reason", "the bench asks", "--yes"]

  private static func lookups(_ subject: Subject) -> [Question] {
    let account = subject.account
    let explain = ["entitlement", "explain", account]
    let attention = ["attention"]
    return [
      Question(name: "Paid, but no space?", words: explain),
      Question(
        name: "What could the account store on the day of the complaint, and why?",
        words: explain + ["--at", subject.sinceYesterday]),
      Question(
        name: "What will happen if the customer does nothing?",
        words: explain + ["--at", subject.nextWeek]),
      Question(name: "Charged twice?", words: attention),
      Question(name: "Refunded, and still there? Refunded in part?", words: explain),
      Question(name: "Does the bank dispute a payment?", words: attention),
      Question(name: "The store is down. Does anybody lose space?", words: attention),
      Question(name: "Whose is this purchase? Claimed by two?", words: attention),
      Question(name: "They deleted their account, and are billed on.", words: attention),
      Question(
        name: "Which accounts hold more than they may, and since when?", words: attention),
      Question(
        name: "Give them more room until the new year.",
        words: ["quota", "set", account, "100TB", "--until", subject.nextWeek] + yes),
      Question(
        name: "Somebody abuses an account.", words: ["account", "suspend", subject.other] + yes),
      Question(
        name: "What did the other admin do last night?",
        words: ["audit", "list", "--actor", "carol", "--since", subject.sinceYesterday]),
      Question(
        name: "Who granted this, and why?", words: ["audit", "list", "--account", account]),
      Question(name: "Did anybody tamper with the log?", words: ["audit", "verify"]),
      Question(
        name: "A job died, and what it would read is gone for good.",
        words: ["jobs", "list", "--dead"]),
      Question(name: "Is anything wrong with this installation?", words: ["doctor"]),
      Question(
        name: "Is everything right that one account keeps?",
        words: ["account", "validate", account]),
      Question(
        name: "A document cannot be downloaded. Is its content there?",
        words: ["tree", "validate", account]),
      Question(name: "Restore a folder deleted yesterday.", words: ["tree", "trash", account]),
      Question(
        name: "A user saved over a document. Is the old content there?",
        words: ["tree", "history", account]),
      Question(
        name: "An account is charged too much. Who is right?", words: ["usage", "show", account]),
      Question(
        name: "Why is this account over its cap?", words: ["usage", "explain", account]),
      Question(
        name: "A shared folder eats up its owner's space.", words: ["usage", "explain", account]),
    ]
  }

  private static func deliveries(_ subject: Subject) -> [Question] {
    [
      Question(
        name: "Who is someone@example.com, and what did they buy?",
        words: ["find", subject.address]),
      Question(name: "Which account has this device?", words: ["find", subject.key]),
      Question(
        name: "Whose was a purchase before, and who claims it now?",
        words: ["find", subject.subscription]),
      Question(
        name: "Did the store ever tell us of it?",
        words: ["event", "list", "--account", subject.account]),
      Question(name: "What did this event change?", words: ["event", "show", subject.delivery]),
      Question(
        name: "Why did an event do nothing?", words: ["event", "list", "--without-effect"]),
      Question(
        name: "The store says that it cannot deliver: why do we refuse?",
        words: ["event", "list", "--refused"]),
      Question(name: "Is the old webhook secret still in use?", words: ["webhook", "proofs"]),
      Question(
        name: "What stands behind a request id on a customer's screenshot?",
        words: ["event", "list", "--refused", "--json"]),
      Question(
        name: "Would they have lost their plan without that event?",
        words: ["whatif", "--without", subject.delivery]),
      Question(
        name: "A new version reads what the old one could not",
        words: ["event", "replay", subject.delivery, "--dry-run"]),
    ]
  }

  private static func wholes(_ subject: Subject) -> [Question] {
    func whole(_ name: String, _ words: String...) -> Question {
      Question(name: name, words: words, readsAll: true)
    }
    return [
      whole("How was last month? (report)", "report"),
      whole("May I change the size of a plan?", "plan", "diff", subject.plans),
      whole(
        "A sealing key may be known to others.", "delivery", "reseal", "--reason", "the bench"),
      whole("The disk fills up with objects. Are they anybody's?", "doctor", "--objects"),
      whole("Is everything right? (doctor --all)", "doctor", "--all"),
      whole("Is every tree whole? (tree validate --all)", "tree", "validate", "--all"),
      whole(
        "Is every account charged rightly? (usage recount)", "usage", "recount", "--all",
        "--dry-run"),
      whole("A backup (backup)", "backup", subject.backups),
      whole("Is last night's backup good?", "backup", "verify", subject.backups),
      whole(
        "The machine is gone. How do we come back?", "restore", subject.backups, "--into",
        subject.restored),
    ]
  }
}
