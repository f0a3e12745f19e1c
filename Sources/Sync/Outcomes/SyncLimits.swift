package import Base
package import Configuration

/// What one account, and one address, may ask of the server; each can be set in the configuration.
package struct SyncLimits: Sendable, Equatable {
  /// Live records of one owner, whatever they weigh.
  package var recordCountMax: Int64 = 2_000_000
  /// Requests an account may make at once, and a second from then on, of one instance.
  package var requestBurst: Int64 = 2000
  package var requestsPerSecond: Int64 = 50
  /// How long deletions are told of; a client that was away for longer starts over.
  package var deletionHorizon = Instant.Span.days(90)
  /// From the asking for an account's end until it is erased.
  package var deletionDelay = Instant.Span.days(7)
  /// An account younger than this, or on the free plan, has only so many invitations to strangers:
  /// unanswered at one time, and new ones on one day.
  package var youngAge = Instant.Span.days(7)
  package var openInvitationCountMax: Int64 = 20
  package var invitationsPerDay: Int64 = 20
  /// Those that one account may get of such strangers: unanswered at one time, and on one day.
  package var receivedInvitationCountMax: Int64 = 30
  /// Accounts that one address may ask for at once, and a day from then on, of one instance.
  package var accountsPerAddress: Int64 = 30

  /// Those of a configuration that says nothing of them.
  package init() {}

  package init(_ configured: SyncConfiguration.Limits) {
    recordCountMax = configured.recordCountMax
    requestBurst = configured.requestBurst
    requestsPerSecond = configured.requestsPerSecond
    deletionHorizon = .days(configured.deletedDays)
    deletionDelay = .days(configured.deletionDelayDays)
    youngAge = .days(configured.youngDays)
    openInvitationCountMax = configured.openInvitationCountMax
    invitationsPerDay = configured.invitationsPerDay
    receivedInvitationCountMax = configured.receivedInvitationCountMax
    accountsPerAddress = configured.accountsPerAddress
  }
}
