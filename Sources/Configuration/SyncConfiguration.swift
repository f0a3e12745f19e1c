package import Base
package import HTTPServer
package import Storage
package import Tiers

/// What `coffer-sync` needs, checked.
package struct SyncConfiguration: Sendable {
  package let database: DatabaseLocation
  package let objectsDirectory: String
  package let listen: SocketAddress
  package let metricsListen: SocketAddress
  /// In lower case; never empty.
  package let authorities: Set<String>
  package let trustedProxies: [AddressRange]
  package let connectionsPerAddressMax: Int
  package let catalogue: Catalogue
  package let registration: Registration
  package let limits: Limits
  package let clock: Clock

  /// Who may open an account.
  package enum Registration: String, Sendable, CaseIterable {
    case open
    /// Whoever has a code of the operator's.
    case invite
    /// Nobody but the operator.
    case closed
  }

  /// What one account may ask for, and one address.
  package struct Limits: Sendable {
    package let recordCountMax: Int64
    package let requestBurst: Int64
    package let requestsPerSecond: Int64
    package let deletedDays: Int64
    package let youngDays: Int64
    package let openInvitationCountMax: Int64
    package let invitationsPerDay: Int64
    package let receivedInvitationCountMax: Int64
    package let accountsPerAddress: Int64
  }

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .sync)
    let database = reader.database()
    let objectsDirectory = reader.objectsDirectory()
    let listen = reader.address(.syncListen)
    let metricsListen = reader.metricsAddress(fallback: "127.0.0.1:9464")
    let authorities = reader.authorities(.syncAuthorities)
    trustedProxies = reader.trustedProxies()
    let connectionsPerAddressMax = reader.number(.connectionsPerAddress, in: 1...1_000_000)
    let catalogue = reader.catalogue()
    registration = reader.registration()
    let limits = reader.limits()
    clock = reader.clock()
    guard let database, let objectsDirectory, let listen, let metricsListen, let authorities,
      let catalogue, let limits, let connectionsPerAddressMax, reader.problems.isEmpty
    else { throw ConfigurationError(reader.problems) }
    self.database = database
    self.objectsDirectory = objectsDirectory
    self.listen = listen
    self.metricsListen = metricsListen
    self.authorities = Set(authorities)
    self.catalogue = catalogue
    self.connectionsPerAddressMax = Int(connectionsPerAddressMax)
    self.limits = limits
  }
}

extension SettingsReader {
  fileprivate mutating func registration() -> SyncConfiguration.Registration {
    guard let text = text(.registration) else { return .open }
    guard let registration = SyncConfiguration.Registration(rawValue: text) else {
      refuse(.registration, "\(quoted(text)) is neither open, invite nor closed")
      return .closed
    }
    return registration
  }

  fileprivate mutating func limits() -> SyncConfiguration.Limits? {
    let recordCountMax = number(.recordsMax, in: 1...1_000_000_000)
    let requestBurst = number(.requestsBurst, in: 1...1_000_000)
    let requestsPerSecond = number(.requestsPerSecond, in: 1...1_000_000)
    let deletedDays = number(.deletedDays, in: 1...36_500)
    let youngDays = number(.youngDays, in: 0...36_500)
    let openInvitationCountMax = number(.openInvitations, in: 0...1_000_000)
    let invitationsPerDay = number(.dailyInvitations, in: 0...1_000_000)
    let receivedInvitationCountMax = number(.receivedInvitations, in: 0...1_000_000)
    let accountsPerAddress = number(.accountsPerAddress, in: 1...1_000_000)
    guard let recordCountMax, let requestBurst, let requestsPerSecond, let deletedDays,
      let youngDays, let openInvitationCountMax, let invitationsPerDay,
      let receivedInvitationCountMax, let accountsPerAddress
    else { return nil }
    return SyncConfiguration.Limits(
      recordCountMax: recordCountMax, requestBurst: requestBurst,
      requestsPerSecond: requestsPerSecond, deletedDays: deletedDays, youngDays: youngDays,
      openInvitationCountMax: openInvitationCountMax, invitationsPerDay: invitationsPerDay,
      receivedInvitationCountMax: receivedInvitationCountMax,
      accountsPerAddress: accountsPerAddress)
  }
}
