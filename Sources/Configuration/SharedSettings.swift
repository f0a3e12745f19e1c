package import Base
package import HTTPServer
package import Storage
package import Tiers

/// The settings that more than one program reads.
package enum SharedSettings {
  package static let database = Setting<DatabaseLocation>(
    "COFFER_DATABASE", for: [.sync, .billing, .command], .required,
    text: "The database: a directory for SQLite, or a PostgreSQL URL. Both programs must use the "
      + "same one. For a directory outside /var/lib/coffer the package's units need "
      + "ReadWritePaths= (systemctl edit coffer-sync coffer-billing).",
    example: "sqlite:///var/lib/coffer", parser: .database,
    isSecret: mayHoldPassword)

  /// A database's location is secret if it may hold a password, or is not a location.
  fileprivate static func mayHoldPassword(_ location: String) -> Bool {
    let isPlace =
      location.hasPrefix("/")
      || ["sqlite:", "postgres:", "postgresql:"].contains(where: location.contains)
    return !isPlace || ["@", "%", "password"].contains(where: location.contains)
  }

  package static let ofServers: [any AnySetting] = [
    metricsListen, metricsToken, trustedProxies, connectionsPerAddress, instances, plans,
  ]

  package static let metricsListen = Setting<SocketAddress>(
    "COFFER_METRICS_LISTEN", for: [.sync, .billing],
    .values([(.sync, "127.0.0.1:9464"), (.billing, "127.0.0.1:9465")]),
    text: "Address and port of the Prometheus metrics. An address that other machines can reach "
      + "needs COFFER_METRICS_TOKEN. Do not set it in a configuration file that both programs "
      + "share, but in the environment of each (systemctl edit coffer-sync coffer-billing).",
    example: "127.0.0.1:9464", parser: .address)

  package static let metricsToken = Setting<Secret>(
    "COFFER_METRICS_TOKEN", for: [.sync, .billing], .meaning("metrics need no token"),
    text: "The bearer token that Prometheus must send to read the metrics: at least 16 printable "
      + "characters. It crosses the network in the clear, so use a private network or a TLS "
      + "proxy. Make one with: openssl rand -hex 32",
    example: "<openssl rand -hex 32>",
    parser: Parser { text in
      text.utf8.count >= 16 && isPrintable(text) ? Secret(text) : nil
    } refusal: { _ in
      "is not at least 16 printable characters without blanks"
    }, isSecret: { _ in true })

  package static let trustedProxies = Setting<[AddressRange]>(
    "COFFER_TRUSTED_PROXIES", for: [.sync, .billing], .meaning("none"),
    text: "Comma list of proxies (addresses or networks) whose X-Forwarded-For and "
      + "X-Forwarded-Proto are trusted.",
    example: "127.0.0.1, 10.0.0.0/8",
    parser: .list { (text, _) throws(ParseFailure) in
      if let range = AddressRange(text) { return range }
      throw ParseFailure("\(quoted(text)) is not an address or a network like 10.0.0.0/8")
    })

  package static let connectionsPerAddress = Setting<Int64>(
    "COFFER_CONNECTIONS_PER_ADDRESS", for: [.sync, .billing], .value("256"),
    text: "The number of connections that one address (or one IPv6 /64 network) may have open. One "
      + "more closes the connection that has been idle longest. Trusted proxies are exempt.",
    example: "256", parser: .number(in: 1...1_000_000))

  package static let instances = Setting<Int64>(
    "COFFER_INSTANCES", for: [.sync, .billing], .value("1"),
    text: "The number of instances of this program that share the database behind a load balancer. "
      + "The limits for one account and one address are divided by it.",
    example: "2", parser: .number(in: 1...64))

  package static let plans = Setting<Catalogue>(
    "COFFER_PLANS", for: [.sync, .billing, .command],
    .meaning("the one of record, else free 1 MB; premium 30 GB, no products"),
    text: "Path of the plan catalogue (JSON). The first start makes it the catalogue of record. "
      + "After that, a program with another catalogue is refused, and coffer plan apply changes "
      + "it.",
    example: "/etc/coffer/plans.json", parser: .catalogue)

  package static let ofTime: [any AnySetting] = [mode, testClock]

  package static let mode = Setting<Mode>(
    "COFFER_MODE", for: [.sync, .billing, .command], .value("production"),
    text: "production or test. Only test allows COFFER_TEST_CLOCK.", example: "production",
    parser: .word)

  package static let testClock = Setting<Clock>(
    "COFFER_TEST_CLOCK", for: [.sync, .billing, .command], .meaning("the machine's clock"),
    text: "Path of a file with the time in milliseconds since 1970. Allowed only with "
      + "COFFER_MODE=test.",
    example: "/tmp/coffer-clock", parser: .clock)

  package static let config = Setting<String>(
    "COFFER_CONFIG", for: [.sync, .billing, .command], .meaning("environment only"),
    text: "Path of a file with these settings as KEY=value lines. The environment takes precedence "
      + "over it, and the option --config over both.",
    example: "/etc/coffer/coffer.env", parser: .text)
}

extension Parser where Value == DatabaseLocation {
  fileprivate static var database: Parser {
    Parser {
      DatabaseLocation($0)
    } refusal: { text in
      // Quoted unless it may hold a password.
      (SharedSettings.mayHoldPassword(text) ? "" : quoted(text) + " ")
        + "is neither sqlite:///<directory> nor postgres://<server>/<database>"
    }
  }
}

extension Parser where Value == Catalogue {
  fileprivate static var catalogue: Parser {
    Parser { (path) throws(ParseFailure) in
      let bytes = try Parser<[UInt8]>.file.parse(path)
      do throws(CatalogueFile.Failure) {
        return try CatalogueFile.catalogue(of: bytes)
      } catch {
        throw ParseFailure("\(quoted(path)) \(error.text)")
      }
    }
  }
}

extension Parser where Value == Clock {
  fileprivate static var clock: Parser {
    Parser { (path) throws(ParseFailure) in
      let text = String(decoding: try Parser<[UInt8]>.file.parse(path), as: UTF8.self)
      guard Int64(text.filter { $0 != "\n" }) != nil else {
        throw ParseFailure("\(quoted(path)) does not hold milliseconds since 1970")
      }
      return .file(path)
    }
  }
}
