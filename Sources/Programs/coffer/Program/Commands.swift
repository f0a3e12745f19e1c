import CommandLine
import Configuration
import KnownStores

extension CommandTable {
  static let coffer: CommandTable = CommandTable(
    Program.command.rawValue, abstract: Program.command.abstract, version: Version.text,
    settings: .coffer,
    [
      (
        "find out",
        [
          .attention, .findAnything, .eventList, .eventShow, .eventReplay, .whatif, .auditList,
          .auditShow, .auditVerify, .report,
        ]
      ),
      (
        "accounts",
        [
          .accountList, .accountShow, .accountTold, .accountValidate, .accountCreate,
          .accountAddKey, .accountSuspend,
          .accountResume, .accountExport, .accountImport, .accountDelete, .deletionList,
          .deletionCancel, .inviteCreate, .inviteList, .inviteRevoke, .appPasswordCreate,
          .appPasswordList, .appPasswordRevoke, .usageShow, .usageExplain, .usageRecount,
          .quotaSet, .quotaClear, .treeValidate, .treeHistory, .treeTrash,
          .treeRestore, .treeCap, .logList, .logShow, .logRestore, .linkList,
          .linkShow, .linkRevoke, .recoveryRefuse,
        ]
      ),
      (
        "plans and purchases",
        [
          .entitlementExplain, .entitlementGrant, .entitlementRevoke, .subscriptionShow,
          .subscriptionRead, .subscriptionTransfer, .subscriptionRelease, .subscriptionCancel,
          .subscriptionRefund, .subscriptionExtend, .refundQuestions, .importPurchases,
          .planList, .planDiff, .planApply, .planHistory, .planShow,
        ]
      ),
      (
        "stores and apps",
        [
          .reconcileList, .reconcile, .jobsList, .jobsRetry, .jobsDrop, .flowList, .flowShow,
          .flowRetry, .flowDrop, .noticeList, .noticeReplay, .noticeEnable, .webhookSend,
          .webhookProofs, .deliveryReseal,
        ]
      ),
      (
        "installation",
        [
          .migrate, .backupVerify, .backup, .restore, .objectsMigrate, .doctor, .config, .request,
          .completion,
          .manual, .schema,
        ]
      ),
    ])
}
