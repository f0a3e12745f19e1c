package import HTTPServer

/// The settings that `coffer-sync` alone reads, and those by which the commands find it.
package enum SyncSettings {
  package static let all: [any AnySetting] = [
    objects, listen, authorities, origins, registration, accountsPerAddress, recordsMax,
    requestsBurst, requestsPerSecond, deletedDays, deletionDelayDays, youngDays, openInvitations,
    dailyInvitations,
    receivedInvitations,
  ]

  /// The directory of a `file:///…` URL.
  package static let objects = Setting<String>(
    "COFFER_OBJECTS", for: [.sync, .command], .requiredBy([.sync]),
    text: "Where document content above 16 KiB lives: a local directory. Outside of "
      + "/var/lib/coffer the package's units need ReadWritePaths= for it.",
    example: "file:///var/lib/coffer/objects",
    parser: Parser { (text) throws(ParseFailure) in
      guard text.hasPrefix("file:///"), text.utf8.count > "file:///".utf8.count else {
        throw ParseFailure("\(quoted(text)) is not file:///<directory>")
      }
      return String(text.dropFirst("file://".count))
    })

  package static let listen = Setting<SocketAddress>(
    "COFFER_SYNC_LISTEN", for: [.sync, .command], .value("127.0.0.1:8080"),
    text: "Address and port of the sync API.", example: "0.0.0.0:8080", parser: .address)

  package static let authorities = Setting<[String]>(
    "COFFER_SYNC_AUTHORITIES", for: [.sync, .command], .requiredBy([.sync]),
    text: "Comma list of the host names clients use, with the port unless it is the "
      + "scheme's own. A request signed for any other host is refused.",
    example: "sync.example.com", parser: .authorities)

  package static let origins = Setting<[String]>(
    "COFFER_SYNC_ORIGINS", for: [.sync, .command], .meaning("no web page may use the API"),
    text: "Comma list of the origins of web pages that may use the API, exactly as browsers "
      + "write them. There is no word for all.",
    example: "https://app.example.com", parser: .origins)

  package static let registration = Setting<SyncConfiguration.Registration>(
    "COFFER_REGISTRATION", for: [.sync], .value("open"),
    text: "Who may open an account: open is everybody; invite, whoever has a code made by "
      + "coffer invite create; closed, nobody but coffer account create.",
    example: "invite", parser: .word)

  package static let accountsPerAddress = Setting<Int64>(
    "COFFER_ACCOUNTS_PER_ADDRESS", for: [.sync], .value("30"),
    text:
      "How many accounts one address (of IPv6, one network of 64 bits) may ask for at once; "
      + "as many come back within a day. Name your proxies, or all "
      + "clients have one address; where none are named, this machine's own is not counted.",
    example: "30", parser: .number(in: 1...1_000_000))

  package static let recordsMax = Setting<Int64>(
    "COFFER_RECORDS_MAX", for: [.sync], .value("2000000"),
    text: "How many live files and folders one account may own.", example: "2000000",
    parser: .number(in: 1...1_000_000_000))

  package static let requestsBurst = Setting<Int64>(
    "COFFER_REQUESTS_BURST", for: [.sync], .value("2000"),
    text: "How many requests an account may make at once; further ones are answered 429.",
    example: "2000", parser: .number(in: 1...1_000_000))

  package static let requestsPerSecond = Setting<Int64>(
    "COFFER_REQUESTS_PER_SECOND", for: [.sync], .value("50"),
    text: "How many requests a second an account gets back after a burst.", example: "50",
    parser: .number(in: 1...1_000_000))

  package static let deletionDelayDays = Setting<Int64>(
    "COFFER_DELETION_DELAY_DAYS", for: [.sync, .command], .value("7"),
    text:
      "How many days an account whose owner wants it gone can be kept after all; then it is erased.",
    example: "7", parser: .number(in: 0...365))

  package static let deletedDays = Setting<Int64>(
    "COFFER_DELETED_DAYS", for: [.sync], .value("90"),
    text: "How many days deleted files are told of; a device that was away for longer "
      + "fetches everything again.",
    example: "90", parser: .number(in: 1...36_500))

  package static let youngDays = Setting<Int64>(
    "COFFER_YOUNG_DAYS", for: [.sync], .value("7"),
    text: "How many days an account counts as young. Young accounts, and those on the free "
      + "plan, invite only so many strangers to share.",
    example: "7", parser: .number(in: 0...36_500))

  package static let openInvitations = Setting<Int64>(
    "COFFER_OPEN_INVITATIONS", for: [.sync], .value("20"),
    text: "How many invitations of strangers such an account may have unanswered; those of "
      + "accounts that share with it already do not count.",
    example: "20", parser: .number(in: 0...1_000_000))

  package static let dailyInvitations = Setting<Int64>(
    "COFFER_DAILY_INVITATIONS", for: [.sync], .value("20"),
    text: "How many strangers such an account may invite in a day (UTC).", example: "20",
    parser: .number(in: 0...1_000_000))

  package static let receivedInvitations = Setting<Int64>(
    "COFFER_RECEIVED_INVITATIONS", for: [.sync], .value("30"),
    text: "How many invitations of such accounts somebody who is a stranger to them may have "
      + "unanswered, and get in a day (UTC).",
    example: "30", parser: .number(in: 0...1_000_000))
}
