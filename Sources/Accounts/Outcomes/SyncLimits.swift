package import Base
package import Configuration

/// The limits for one account and for one address. Each can be set in the configuration.
package struct SyncLimits: Sendable, Equatable {
  /// Live records of one owner, regardless of size.
  package var recordCountMax: Int64 = 2_000_000
  /// Requests that an account may make at once to one instance, and then each second.
  package var requestBurst: Int64 = 2000
  package var requestsPerSecond: Int64 = 50
  /// How long deletions stay in updates. A client that was away for longer starts over.
  package var deletionHorizon = Instant.Span.days(90)
  /// How long a message waits in a mailbox before it expires.
  package var messageSpan = Instant.Span.days(90)
  /// The time from the request to delete an account to its erasure.
  package var deletionDelay = Instant.Span.days(7)
  /// An account younger than this, or on the free plan, is limited in its invitations to strangers:
  /// those unanswered at one time, and new ones in a day.
  package var youngAge = Instant.Span.days(7)
  package var openInvitationCountMax: Int64 = 20
  package var invitationsPerDay: Int64 = 20
  /// Invitations from such accounts that one account may receive: unanswered at one time, and in a day.
  package var receivedInvitationCountMax: Int64 = 30
  /// Accounts that one address may open at once on one instance, and then each day.
  package var accountsPerAddress: Int64 = 30
  /// The longest content of one document. One request carries at most 1 GiB of it.
  package var contentByteCountMax: Int64 = 5_000_000_000
  /// The bytes that an account's public links may send at once from one instance, and then each day.
  package var linkBytesPerDay: Int64 = 10_000_000_000

  /// The defaults.
  package init() {}

  package init(_ configured: SyncConfiguration.Limits) {
    recordCountMax = configured.recordCountMax
    requestBurst = configured.requestBurst
    requestsPerSecond = configured.requestsPerSecond
    deletionHorizon = .days(configured.deletedDays)
    messageSpan = .days(configured.messageDays)
    deletionDelay = .days(configured.deletionDelayDays)
    youngAge = .days(configured.youngDays)
    openInvitationCountMax = configured.openInvitationCountMax
    invitationsPerDay = configured.invitationsPerDay
    receivedInvitationCountMax = configured.receivedInvitationCountMax
    accountsPerAddress = configured.accountsPerAddress
    contentByteCountMax = configured.contentByteCountMax
    linkBytesPerDay = configured.linkBytesPerDay
  }
}
