/// Every command, in the order help lists them.
enum CommandTable {
  static let all: [Command] = [
    .migrate, .findAnything, .eventList, .eventShow, .eventReplay, .whatif,
    .accountList, .accountShow, .accountTold, .accountCreate, .accountAddKey, .accountSuspend,
    .accountResume, .accountExport, .accountImport, .accountDelete, .deletionList, .deletionCancel,
    .inviteCreate, .inviteList,
    .inviteRevoke, .usageShow, .usageRecount,
    .attention, .entitlementExplain, .entitlementGrant, .entitlementRevoke, .subscriptionTransfer,
    .subscriptionShow,
    .subscriptionRelease, .subscriptionRead, .subscriptionCancel, .subscriptionRefund,
    .subscriptionExtend, .refundQuestions, .importPurchases,
    .reconcileList, .reconcile, .quotaSet, .quotaClear,
    .planList, .planDiff, .planApply, .planHistory, .planShow, .report,
    .jobsList, .jobsRetry, .jobsDrop,
    .flowList, .flowShow, .flowRetry, .flowDrop,
    .deliveryReseal,
    .noticeList, .noticeReplay, .noticeEnable,
    .auditList, .auditShow, .auditVerify,
    .webhookSend, .webhookProofs, .request, .backupVerify, .backup, .restore, .doctor,
    .treeValidate, .config, .completion,
    .manual, .schema,
  ]

  /// The commands whose words begin with `words`.
  static func group(_ words: [String]) -> [Command] {
    all.filter { $0.words.starts(with: words) }
  }
}
