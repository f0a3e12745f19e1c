package import Base
package import HTTPServer
package import S3
package import Storage
package import Tiers

/// The checked configuration of `coffer-sync`.
package struct SyncConfiguration: Sendable {
  package let database: DatabaseLocation
  package let objects: ObjectsPlace
  /// Whether clients fetch large content from the bucket themselves.
  package let isDirect: Bool
  package let listen: SocketAddress
  package let metrics: MetricsListener
  /// In lower case; never empty.
  package let authorities: Set<String>
  package let origins: Set<String>
  /// The hosts of clients of Actual, in lower case; none: they are not served.
  package let actualAuthorities: Set<String>
  package let actualOrigins: Set<String>
  /// The directory of Actual's own files that those hosts serve; nil if they serve none.
  package let actualFiles: String?
  package let trustedProxies: [AddressRange]
  package let connectionsPerAddressMax: Int
  /// The configured catalogue; `CatalogueOfRecord` decides which one applies.
  package let catalogue: Catalogue?
  package let registration: Registration
  package let limits: Limits
  package let streams: Streams
  /// The push gateway that wakes devices; nil if none is woken.
  package let pushGateway: WebhookReceiver?
  /// The least time between two wake-ups of one device.
  package let pushPause: Instant.Span
  package let clock: Clock

  /// Whether clients fetch large content from the bucket themselves.
  package enum Downloads: String, Sendable, CaseIterable {
    case off
    case on
  }

  /// The rule for who may open an account.
  package enum Registration: String, Sendable, CaseIterable {
    case open
    /// Anyone with a code of the operator's.
    case invite
    /// Only the operator.
    case closed
  }

  /// The limits of one account, and of one address, at this instance.
  package struct Limits: Sendable {
    package let recordCountMax: Int64
    package let requestBurst: Int64
    package let requestsPerSecond: Int64
    package let deletedDays: Int64
    package let messageDays: Int64
    package let deletionDelayDays: Int64
    package let youngDays: Int64
    package let openInvitationCountMax: Int64
    package let invitationsPerDay: Int64
    package let receivedInvitationCountMax: Int64
    package let accountsPerAddress: Int64
    package let contentByteCountMax: Int64
    package let linkBytesPerDay: Int64
  }

  /// The limits of live streams at this instance.
  package struct Streams: Sendable {
    /// Nil if the operator leaves it to the program.
    package let countMax: Int?
    package let countPerAccountMax: Int
    package let countPerAddressMax: Int
  }

  package init(_ settings: Settings) throws(ConfigurationError) {
    var reader = SettingsReader(settings, for: .sync)
    let database = reader.value(SharedSettings.database)
    let objects = reader.objects()
    isDirect = reader.value(SyncSettings.objectsDirect) == .on
    if isDirect, objects?.main.location.directory != nil {
      reader.refuse(SyncSettings.objectsDirect, "needs a bucket in \(SyncSettings.objects.name)")
    }
    let listen = reader.value(SyncSettings.listen)
    let metrics = reader.metricsListener()
    let authorities = reader.value(SyncSettings.authorities)
    origins = Set(reader.value(SyncSettings.origins) ?? [])
    actualAuthorities = Set(reader.value(SyncSettings.actualAuthorities) ?? [])
    actualOrigins = Set(reader.value(SyncSettings.actualOrigins) ?? [])
    actualFiles = reader.value(SyncSettings.actualFiles)
    if actualFiles != nil, actualAuthorities.isEmpty {
      reader.refuse(
        SyncSettings.actualFiles, "is set, but \(SyncSettings.actualAuthorities.name) is not")
    }
    if let shared = actualAuthorities.intersection(authorities ?? []).sorted().first {
      reader.refuse(
        SyncSettings.actualAuthorities,
        "\(shared) is a host of \(SyncSettings.authorities.name), too")
    }
    trustedProxies = reader.value(SharedSettings.trustedProxies) ?? []
    let connectionsPerAddressMax = reader.value(SharedSettings.connectionsPerAddress)
    catalogue = reader.catalogue()
    let registration = reader.value(SyncSettings.registration)
    let limits = Limits(reading: &reader)
    if let limits, let most = objects?.main.location.contentByteCountMax,
      limits.contentByteCountMax > most
    {
      reader.refuse(SyncSettings.contentBytesMax, "a bucket takes at most \(most) bytes")
    }
    let streams = Streams(reading: &reader)
    pushGateway = reader.receiver(SyncSettings.pushURL, SyncSettings.pushSecrets)
    let pushPause = reader.value(SyncSettings.pushPause)
    clock = reader.clock()
    guard let database, let objects, let listen, let metrics, let authorities,
      let registration, let limits, let streams, let connectionsPerAddressMax,
      let pushPause, reader.problems.isEmpty
    else { throw ConfigurationError(reader.problems) }
    self.database = database
    self.objects = objects
    self.listen = listen
    self.metrics = metrics
    self.authorities = Set(authorities)
    self.registration = registration
    self.connectionsPerAddressMax = Int(connectionsPerAddressMax)
    self.limits = limits
    self.streams = streams
    self.pushPause = .seconds(pushPause)
  }
}

extension SyncConfiguration.Streams {
  /// They are not divided by the number of instances: a balancer may send all streams of an account to one of them.
  fileprivate init?(reading reader: inout SettingsReader) {
    let countMax = reader.value(SyncSettings.streamsMax)
    let perAccount = reader.value(SyncSettings.streamsPerAccount)
    let perAddress = reader.value(SyncSettings.streamsPerAddress)
    guard let perAccount, let perAddress else { return nil }
    self.init(
      countMax: countMax.map { Int($0) }, countPerAccountMax: Int(perAccount),
      countPerAddressMax: Int(perAddress))
  }
}

extension SyncConfiguration.Limits {
  fileprivate init?(reading reader: inout SettingsReader) {
    let instanceCount = reader.value(SharedSettings.instances)
    let recordCountMax = reader.value(SyncSettings.recordsMax)
    let requestBurst = reader.value(SyncSettings.requestsBurst)
    let requestsPerSecond = reader.value(SyncSettings.requestsPerSecond)
    let deletedDays = reader.value(SyncSettings.deletedDays)
    let messageDays = reader.value(SyncSettings.messageDays)
    let deletionDelayDays = reader.value(SyncSettings.deletionDelayDays)
    let youngDays = reader.value(SyncSettings.youngDays)
    let openInvitationCountMax = reader.value(SyncSettings.openInvitations)
    let invitationsPerDay = reader.value(SyncSettings.dailyInvitations)
    let receivedInvitationCountMax = reader.value(SyncSettings.receivedInvitations)
    let accountsPerAddress = reader.value(SyncSettings.accountsPerAddress)
    let contentByteCountMax = reader.value(SyncSettings.contentBytesMax)
    let linkBytesPerDay = reader.value(SyncSettings.linkBytesPerDay)
    guard let instanceCount, let recordCountMax, let requestBurst, let requestsPerSecond,
      let deletedDays, let messageDays,
      let deletionDelayDays,
      let youngDays, let openInvitationCountMax, let invitationsPerDay,
      let receivedInvitationCountMax, let accountsPerAddress,
      let contentByteCountMax, let linkBytesPerDay
    else { return nil }
    self.init(
      recordCountMax: recordCountMax, requestBurst: max(1, requestBurst / instanceCount),
      requestsPerSecond: max(1, requestsPerSecond / instanceCount), deletedDays: deletedDays,
      messageDays: messageDays, deletionDelayDays: deletionDelayDays, youngDays: youngDays,
      openInvitationCountMax: openInvitationCountMax, invitationsPerDay: invitationsPerDay,
      receivedInvitationCountMax: receivedInvitationCountMax,
      accountsPerAddress: max(1, accountsPerAddress / instanceCount),
      contentByteCountMax: contentByteCountMax,
      linkBytesPerDay: max(1, linkBytesPerDay / instanceCount))
  }
}
