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
    connectionsPerAddressMax = Int(reader.number(SharedSettings.connectionsPerAddress))
    catalogue = reader.catalogue()
    registration = reader.value(SyncSettings.registration) ?? .closed
    limits = Limits(reading: &reader)
    if let most = objects?.main.location.contentByteCountMax,
      limits.contentByteCountMax > most
    {
      reader.refuse(SyncSettings.contentBytesMax, "a bucket takes at most \(most) bytes")
    }
    streams = Streams(reading: &reader)
    pushGateway = reader.receiver(SyncSettings.pushURL, SyncSettings.pushSecrets)
    pushPause = .seconds(reader.number(SyncSettings.pushPause))
    clock = reader.clock()
    guard let database, let objects, let listen, let metrics, let authorities,
      reader.problems.isEmpty
    else { throw ConfigurationError(reader.problems) }
    self.database = database
    self.objects = objects
    self.listen = listen
    self.metrics = metrics
    self.authorities = Set(authorities)
  }
}

extension SyncConfiguration.Streams {
  /// They are not divided by the number of instances: a balancer may send all streams of an account to one of them.
  fileprivate init(reading reader: inout SettingsReader) {
    countMax = reader.value(SyncSettings.streamsMax).map { Int($0) }
    countPerAccountMax = Int(reader.number(SyncSettings.streamsPerAccount))
    countPerAddressMax = Int(reader.number(SyncSettings.streamsPerAddress))
  }
}

extension SyncConfiguration.Limits {
  fileprivate init(reading reader: inout SettingsReader) {
    let instanceCount = reader.number(SharedSettings.instances)
    recordCountMax = reader.number(SyncSettings.recordsMax)
    requestBurst = max(1, reader.number(SyncSettings.requestsBurst) / instanceCount)
    requestsPerSecond = max(1, reader.number(SyncSettings.requestsPerSecond) / instanceCount)
    deletedDays = reader.number(SyncSettings.deletedDays)
    messageDays = reader.number(SyncSettings.messageDays)
    deletionDelayDays = reader.number(SyncSettings.deletionDelayDays)
    youngDays = reader.number(SyncSettings.youngDays)
    openInvitationCountMax = reader.number(SyncSettings.openInvitations)
    invitationsPerDay = reader.number(SyncSettings.dailyInvitations)
    receivedInvitationCountMax = reader.number(SyncSettings.receivedInvitations)
    accountsPerAddress = max(1, reader.number(SyncSettings.accountsPerAddress) / instanceCount)
    contentByteCountMax = reader.number(SyncSettings.contentBytesMax)
    linkBytesPerDay = max(1, reader.number(SyncSettings.linkBytesPerDay) / instanceCount)
  }
}
