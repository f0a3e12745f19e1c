/// Every command, in the order help lists them.
enum CommandTable {
  static let all: [Command] = [
    .migrate, .accountList, .accountShow, .accountCreate, .inviteCreate, .inviteList,
    .inviteRevoke, .usageShow, .usageRecount,
    .entitlementExplain, .entitlementGrant, .entitlementRevoke, .subscriptionTransfer,
    .subscriptionRelease, .subscriptionRead, .planList, .jobsList, .jobsRetry, .deliveryShow,
    .webhookSend,
    .request, .config, .completion, .manual, .schema,
  ]

  /// The commands whose words begin with `words`.
  static func group(_ words: [String]) -> [Command] {
    all.filter { $0.words.starts(with: words) }
  }
}
