package import HTTPServer
package import S3

/// The settings that `coffer-sync` alone reads, and those by which the commands find it.
package enum SyncSettings {
  package static let all: [any AnySetting] = [
    objects, objectsKey, objectsKeyFile, objectsDirect, objectsAlso, objectsAlsoKey, listen,
    authorities, origins, actualAuthorities, actualOrigins, actualFiles, registration,
    accountsPerAddress, recordsMax, requestsBurst, requestsPerSecond, deletedDays, messageDays,
    deletionDelayDays, youngDays, openInvitations, dailyInvitations, receivedInvitations,
    contentBytesMax, linkBytesPerDay, streamsMax, streamsPerAccount, streamsPerAddress, pushURL,
    pushSecrets, pushPause,
  ]

  package static let objects = Setting<ObjectsLocation>(
    "COFFER_OBJECTS", for: [.sync, .command], .requiredBy([.sync]),
    text: "Where document content above 16 KiB is stored: a local directory (for one outside "
      + "/var/lib/coffer the package's units need ReadWritePaths=), or any S3 service as "
      + "\(BucketAddress.form).",
    example: "file:///var/lib/coffer/objects",
    parser: .objects)

  package static let objectsKey = Setting<BucketKeys>(
    "COFFER_OBJECTS_KEY", for: [.sync, .command],
    .meaning("AWS_ACCESS_KEY_ID and the like of the environment"),
    text: "The keys of an S3 service: access key id, colon, secret access key.",
    example: "AKIAIOSFODNN7EXAMPLE:<secret access key>",
    parser: .bucketKeys,
    isSecret: { _ in true })

  package static let objectsKeyFile = Setting<BucketKeys>(
    "COFFER_OBJECTS_KEY_FILE", for: [.sync, .command], .meaning("COFFER_OBJECTS_KEY"),
    text: "Path of a file with the text of COFFER_OBJECTS_KEY, which then is not set.",
    example: "/etc/coffer/objects.key",
    parser: Parser { (path) throws(ParseFailure) in
      let line = try Parser.file.parse(path).prefix { $0 != 0x0A }
      return try Parser.bucketKeys.parse(
        String(SettingsFile.trim(String(decoding: line, as: UTF8.self))))
    }, namesSecret: true)

  package static let objectsDirect = Setting<SyncConfiguration.Downloads>(
    "COFFER_OBJECTS_DIRECT", for: [.sync], .value("off"),
    text:
      "Whether clients fetch large content from the S3 service themselves (on): a download is a "
      + "redirect to a URL that is good for a minute.",
    example: "on", parser: .word)

  package static let objectsAlso = Setting<ObjectsLocation>(
    "COFFER_OBJECTS_ALSO", for: [.sync, .command], .meaning("objects are in one store"),
    text:
      "A second store, while the objects move from it to COFFER_OBJECTS (coffer objects migrate). It is read, "
      + "and gets no new objects.",
    example: "file:///var/lib/coffer/objects", parser: .objects)

  package static let objectsAlsoKey = Setting<BucketKeys>(
    "COFFER_OBJECTS_ALSO_KEY", for: [.sync, .command], .meaning("COFFER_OBJECTS_KEY"),
    text: "The keys of that store, if it is an S3 service with other keys.",
    example: "AKIAIOSFODNN7EXAMPLE:<secret access key>", parser: .bucketKeys,
    isSecret: { _ in true })

  package static let listen = Setting<SocketAddress>(
    "COFFER_SYNC_LISTEN", for: [.sync, .command], .value("127.0.0.1:8080"),
    text: "Address and port of the sync API.", example: "0.0.0.0:8080", parser: .address)

  package static let authorities = Setting<[String]>(
    "COFFER_SYNC_AUTHORITIES", for: [.sync, .command], .requiredBy([.sync]),
    text: "Comma list of the host names that clients use, with the port unless it is the scheme's "
      + "default. A request signed for any other host is refused.",
    example: "sync.example.com", parser: .authorities)

  package static let origins = Setting<[String]>(
    "COFFER_SYNC_ORIGINS", for: [.sync, .command], .meaning("no web page may use the API"),
    text: "Comma list of the origins of web pages that may use the API, exactly as browsers write "
      + "them. There is no wildcard.",
    example: "https://app.example.com", parser: .origins)

  package static let actualAuthorities = Setting<[String]>(
    "COFFER_ACTUAL_AUTHORITIES", for: [.sync, .command],
    .meaning("clients of Actual are not served"),
    text:
      "Comma list of the host names at which clients of Actual Budget sync, with the port unless it is the "
      + "scheme's default. They are no names of COFFER_SYNC_AUTHORITIES. See docs/actual.md.",
    example: "budget.example.com", parser: .authorities)

  package static let actualOrigins = Setting<[String]>(
    "COFFER_ACTUAL_ORIGINS", for: [.sync, .command], .meaning("no web page may sync budgets"),
    text:
      "Comma list of the origins of web pages with Actual's app that may use those hosts, as in "
      + "COFFER_SYNC_ORIGINS.",
    example: "https://actual.example.com", parser: .origins)

  package static let actualFiles = Setting<String>(
    "COFFER_ACTUAL_FILES", for: [.sync], .meaning("no web app is served"),
    text:
      "The directory build of the npm package @actual-app/web. The hosts of COFFER_ACTUAL_AUTHORITIES serve its "
      + "files: Actual's web app, and the tables of new budgets. They are read at the start only. See "
      + "docs/actual.md.",
    example: "/opt/actual/package/build", parser: .text)

  package static let registration = Setting<SyncConfiguration.Registration>(
    "COFFER_REGISTRATION", for: [.sync], .value("open"),
    text: "Who may open an account: open (everyone), invite (with a code of coffer invite create), "
      + "or closed (only coffer account create).",
    example: "invite", parser: .word)

  package static let accountsPerAddress = Setting<Int64>(
    "COFFER_ACCOUNTS_PER_ADDRESS", for: [.sync], .value("30"),
    text: "The number of accounts that one address (or one IPv6 /64 network) may open at once, and "
      + "then each day. Name your proxies in COFFER_TRUSTED_PROXIES, or all clients share one "
      + "address. If none are named, this machine's own address is not limited.",
    example: "30", parser: .number(in: 1...1_000_000))

  package static let recordsMax = Setting<Int64>(
    "COFFER_RECORDS_MAX", for: [.sync], .value("2000000"),
    text: "The number of live files and folders that one account may own.", example: "2000000",
    parser: .number(in: 1...1_000_000_000))

  package static let requestsBurst = Setting<Int64>(
    "COFFER_REQUESTS_BURST", for: [.sync], .value("2000"),
    text: "The number of requests that an account may make at once. Further requests get 429.",
    example: "2000", parser: .number(in: 1...1_000_000))

  package static let requestsPerSecond = Setting<Int64>(
    "COFFER_REQUESTS_PER_SECOND", for: [.sync], .value("50"),
    text:
      "The number of requests that an account may make each second after a burst.", example: "50",
    parser: .number(in: 1...1_000_000))

  package static let deletionDelayDays = Setting<Int64>(
    "COFFER_DELETION_DELAY_DAYS", for: [.sync, .command], .value("7"),
    text: "The number of days between an owner's deletion request and the erasure, in which the "
      + "deletion can be cancelled.",
    example: "7", parser: .number(in: 0...365))

  package static let deletedDays = Setting<Int64>(
    "COFFER_DELETED_DAYS", for: [.sync], .value("90"),
    text: "The number of days for which deletions stay in updates. A device that was away for "
      + "longer fetches everything again.",
    example: "90", parser: .number(in: 1...36_500))

  package static let messageDays = Setting<Int64>(
    "COFFER_MESSAGE_DAYS", for: [.sync], .value("90"),
    text:
      "The number of days for which a message waits in the mailbox of a device. Then it expires, "
      + "and its sender is told.",
    example: "90", parser: .number(in: 1...3650))

  package static let youngDays = Setting<Int64>(
    "COFFER_YOUNG_DAYS", for: [.sync], .value("7"),
    text: "The number of days for which an account counts as young. Young and free accounts can "
      + "invite only a limited number of strangers.",
    example: "7", parser: .number(in: 0...36_500))

  package static let openInvitations = Setting<Int64>(
    "COFFER_OPEN_INVITATIONS", for: [.sync], .value("20"),
    text: "The number of unanswered invitations that such an account may have sent to strangers. "
      + "Accounts that already share with it do not count.",
    example: "20", parser: .number(in: 0...1_000_000))

  package static let dailyInvitations = Setting<Int64>(
    "COFFER_DAILY_INVITATIONS", for: [.sync], .value("20"),
    text: "The number of strangers that such an account may invite in a day (UTC).", example: "20",
    parser: .number(in: 0...1_000_000))

  package static let receivedInvitations = Setting<Int64>(
    "COFFER_RECEIVED_INVITATIONS", for: [.sync], .value("30"),
    text: "The number of invitations from such accounts that a stranger may have unanswered, and "
      + "may receive in a day (UTC).",
    example: "30", parser: .number(in: 0...1_000_000))

  package static let contentBytesMax = Setting<Int64>(
    "COFFER_CONTENT_BYTES_MAX", for: [.sync], .value("5000000000"),
    text:
      "The largest content of a document, snapshot, blob or link, in bytes. Content above 1 GiB "
      + "needs a resumable upload. A plan's file_bytes can only be lower.",
    example: "5000000000", parser: .number(in: 65_536...1_000_000_000_000))

  package static let linkBytesPerDay = Setting<Int64>(
    "COFFER_LINK_BYTES_PER_DAY", for: [.sync], .value("10000000000"),
    text:
      "The number of bytes that the public links of one account may send at once, and then each "
      + "day. Further requests get 429.",
    example: "10000000000", parser: .number(in: 1_000_000...1_000_000_000_000_000))

  package static let streamsMax = Setting<Int64>(
    "COFFER_STREAMS_MAX", for: [.sync],
    .meaning("10000, and at most half of the files that the process may open"),
    text:
      "The number of live streams (GET /v1/updates/stream) that one instance holds. Further ones "
      + "get 503.",
    example: "50000", parser: .number(in: 1...10_000_000))

  package static let streamsPerAccount = Setting<Int64>(
    "COFFER_STREAMS_PER_ACCOUNT", for: [.sync], .value("32"),
    text: "The number of live streams that one account may have open at one instance. Further ones "
      + "get 429.",
    example: "32", parser: .number(in: 1...1_000_000))

  package static let streamsPerAddress = Setting<Int64>(
    "COFFER_STREAMS_PER_ADDRESS", for: [.sync], .value("256"),
    text:
      "The number of live streams that one address (or one IPv6 /64 network) may have open at one "
      + "instance. Further ones get 429. Name your proxies in COFFER_TRUSTED_PROXIES, or all "
      + "clients share one address.",
    example: "256", parser: .number(in: 1...1_000_000))
}

extension Parser where Value == ObjectsLocation {
  fileprivate static var objects: Parser {
    Parser {
      ObjectsLocation($0)
    } refusal: { text in
      "\(quoted(text)) is not "
        + (text.hasPrefix("s3:") ? BucketAddress.form : "file:///<directory>")
    }
  }
}

extension Parser where Value == BucketKeys {
  fileprivate static var bucketKeys: Parser {
    Parser({ BucketKeys($0) }, refusal: { _ in "is not <access key id>:<secret access key>" })
  }
}

extension SettingsReader {
  /// Where objects are; nil if the settings do not say.
  mutating func objects() -> ObjectsPlace? {
    let main = value(SyncSettings.objects)
    let keys = bucketKeys()
    let also = value(SyncSettings.objectsAlso)
    let alsoKeys = value(SyncSettings.objectsAlsoKey) ?? keys
    guard let main else { return nil }
    if let also, also.description == main.description {
      refuse(SyncSettings.objectsAlso, "names the store of \(SyncSettings.objects.name)")
    }
    return ObjectsPlace(
      .init(main, keys), also: also.map { .init($0, alsoKeys) })
  }
}
