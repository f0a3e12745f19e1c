// swift-tools-version: 6.2
import PackageDescription

/// Every target: Swift 6 mode, warnings as errors, C pointers only where a wrapper says `unsafe`.
let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  // Else nothing generic of one module is specialized for another: folding a subscription takes three times as long.
  .unsafeFlags(["-cross-module-optimization"], .when(configuration: .release)),
]

/// The same, optimized in debug builds as well: for modules that everything else runs through. Without it
/// the tests spend two fifths of their time in them.
let optimized: [SwiftSetting] =
  settings + [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]

func system(_ name: String, _ library: String, debian package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/System/\(name)", pkgConfig: library,
    providers: [.apt([package])])
}

/// A target is named by its folder.
func name(_ path: String) -> String { String(path.split(separator: "/").last!) }

func module(
  _ path: String, _ dependencies: [Target.Dependency], embedding files: [String] = [],
  _ settings: [SwiftSetting] = settings
) -> Target {
  .target(
    name: name(path), dependencies: dependencies, path: "Sources/\(path)",
    resources: files.map { .embedInCode($0) }, swiftSettings: settings)
}

func program(
  _ path: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  .executableTarget(
    name: name(path), dependencies: dependencies, path: path, exclude: exclude,
    swiftSettings: settings)
}

/// What tests share.
func support(
  _ path: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = settings
) -> Target {
  .target(
    name: name(path), dependencies: dependencies,
    path: "Tests/\(path)", swiftSettings: settings)
}

func tests(
  _ path: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  .testTarget(
    name: name(path), dependencies: dependencies,
    path: "Tests/\(path)", exclude: exclude, swiftSettings: settings)
}

// The list is the map: a target may depend only on targets above it.
let package = Package(
  name: "coffer",
  targets: [
    system("CSQLite", "sqlite3", debian: "libsqlite3-dev"),
    system("CPostgres", "libpq", debian: "libpq-dev"),
    system("COpenSSL", "libcrypto", debian: "libssl-dev"),
    system("CCurl", "libcurl", debian: "libcurl4-openssl-dev"),
    system("CJansson", "jansson", debian: "libjansson-dev"),
    system("CMicrohttpd", "libmicrohttpd", debian: "libmicrohttpd-dev"),
    system("CZstd", "libzstd", debian: "libzstd-dev"),
    system("CExpat", "expat", debian: "libexpat1-dev"),

    module("Base", [], optimized),
    module("Crypto", ["Base", "COpenSSL"]),
    module("Compression", ["Base", "CZstd"]),
    module("JSON", ["Base", "CJansson"], optimized),
    module("XML", ["CExpat"]),
    module("JWS", ["Base", "JSON"]),

    module("HTTP/HTTPMessages", ["Base", "JSON"]),
    module("HTTP/HTTPSignatures", ["Base", "Crypto", "HTTPMessages"], optimized),
    module("HTTP/HTTPServer", ["Base", "HTTPMessages", "CMicrohttpd"]),
    module("HTTP/HTTPClient", ["Base", "HTTPMessages", "CCurl"]),

    .target(
      name: "Migrations", path: "migrations",
      resources: [.embedInCode("sync"), .embedInCode("billing")], swiftSettings: settings),
    module("Storage/SQLite", ["Base", "CSQLite"], optimized),
    module("Storage/Postgres", ["Base", "CPostgres"], optimized),
    module("Storage/Objects", ["Base"]),
    module("Storage/S3", ["Base", "Crypto", "HTTPClient", "HTTPMessages", "Objects", "XML"]),
    module(
      "Storage/Storage", ["Base", "Crypto", "Migrations", "SQLite", "Postgres"], optimized),
    module("Storage/Backup", ["Base", "Crypto", "Migrations", "Objects", "Storage"]),
    module("Storage/Archive", ["Base", "Crypto"]),
    module("Audit", ["Base", "Crypto", "JSON", "Storage"]),

    module("Tiers", ["Base"]),
    module(
      "Configuration",
      ["Base", "Crypto", "JSON", "HTTPServer", "HTTPClient", "S3", "Storage", "Tiers"]),
    module(
      "Endpoints", ["Base", "Crypto", "HTTPMessages", "HTTPServer", "JSON", "Objects", "Storage"]),

    module(
      "Requests",
      [
        "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "HTTPSignatures", "JSON",
        "Storage",
      ]),
    module("ProviderAPI", ["Base", "Configuration", "Crypto", "HTTPMessages", "HTTPClient"]),
    module("Billing/Jobs", ["Base", "Crypto", "Storage"]),
    module("Billing/Subscriptions", ["Base", "Tiers"], optimized),
    module("Billing/Report", ["Base", "JSON", "Subscriptions", "Tiers"]),
    module(
      "Billing/Stores",
      [
        "Base", "Compression", "Configuration", "HTTPMessages", "HTTPServer", "JSON",
        "ProviderAPI", "Subscriptions", "Tiers",
      ]),
    module(
      "Billing/Apple",
      [
        "Base", "Compression", "Configuration", "Crypto", "HTTPMessages", "HTTPServer", "JSON",
        "JWS", "ProviderAPI", "Stores", "Subscriptions", "Tiers",
      ], embedding: ["apple_1.zdict"]),
    module(
      "Billing/Stripe",
      [
        "Base", "Compression", "Configuration", "Crypto", "HTTPMessages", "HTTPServer", "JSON",
        "ProviderAPI", "Stores", "Subscriptions", "Tiers",
      ], embedding: ["stripe_1.zdict"]),
    module(
      "Billing/Google",
      [
        "Base", "Compression", "Configuration", "Crypto", "HTTPClient", "HTTPMessages",
        "HTTPServer", "JSON", "JWS", "ProviderAPI", "Stores", "Subscriptions", "Tiers",
      ], embedding: ["google_1.zdict"]),
    module(
      "Billing/BTCPay",
      [
        "Base", "Compression", "Configuration", "Crypto", "HTTPMessages", "HTTPServer", "JSON",
        "ProviderAPI", "Stores", "Subscriptions", "Tiers",
      ], embedding: ["btcpay_1.zdict"]),
    module(
      "Billing/KnownStores",
      [
        "Apple", "BTCPay", "Base", "Configuration", "Google", "ProviderAPI", "Stores", "Stripe",
        "Subscriptions",
      ]),
    module(
      "Billing/Ledger",
      [
        "Base", "Compression", "Configuration", "Crypto", "JSON", "Jobs", "ProviderAPI", "Storage",
        "Stores", "Subscriptions", "Tiers",
      ]),
    module(
      "Billing/Answers",
      [
        "Base", "Crypto", "Jobs", "Ledger", "ProviderAPI", "Report", "Storage", "Stores",
        "Subscriptions", "Tiers",
      ]),
    module(
      "Billing/Repair",
      [
        "Answers", "Base", "Crypto", "JSON", "Jobs", "Ledger", "Storage", "Stores", "Subscriptions",
        "Tiers",
      ]),
    .target(name: "EmbeddedOpenAPI", path: "Sources/OpenAPI/Embedded"),
    .target(
      name: "OpenAPI", dependencies: ["EmbeddedOpenAPI"], path: "Sources/OpenAPI",
      exclude: ["Embedded", "billing.json", "sync.json"], swiftSettings: settings),
    module(
      "Billing/Flows",
      [
        "Answers", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "JSON", "Jobs",
        "Ledger", "ProviderAPI", "Requests", "Storage", "Stores", "Stripe", "Subscriptions",
        "Tiers",
      ]),
    module(
      "Billing/Orders",
      [
        "Audit", "Base", "Crypto", "JSON", "Jobs", "Ledger", "ProviderAPI", "Report", "Storage",
        "Stores", "Subscriptions", "Tiers",
      ]),
    module(
      "Billing/Importing", ["Base", "Ledger", "Storage", "Stores", "Subscriptions"]),
    module(
      "Billing/Billing",
      [
        "Answers", "Audit", "Base", "Crypto", "JSON", "HTTPMessages", "HTTPServer", "Storage",
        "Endpoints", "Tiers", "Configuration", "HTTPSignatures", "Subscriptions", "ProviderAPI",
        "Jobs", "KnownStores",
        "Flows", "Ledger", "OpenAPI", "Orders", "Requests", "Stores",
      ]),

    module(
      "Accounts",
      [
        "Objects",
        "Archive", "Base", "Configuration", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer",
        "HTTPSignatures", "JSON", "Requests", "Storage", "Tiers",
      ]),
    module(
      "Streams",
      [
        "Accounts", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "JSON", "Requests",
        "Storage", "Tiers",
      ]),
    module(
      "WakeUps",
      [
        "Accounts", "Base", "Configuration", "Crypto", "Endpoints", "HTTPServer", "JSON",
        "ProviderAPI", "Requests", "Storage", "Streams",
      ]),
    module(
      "Sync",
      [
        "Objects", "ProviderAPI", "S3", "Streams", "WakeUps",
        "Accounts", "Archive", "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures",
        "HTTPServer", "Storage", "Endpoints", "Tiers", "Configuration", "OpenAPI", "Requests",
      ]),
    module(
      "Logs",
      [
        "Accounts", "Archive", "Base", "Configuration", "Crypto", "Endpoints", "HTTPMessages",
        "HTTPServer", "HTTPSignatures", "JSON",
        "Objects", "Requests", "Storage", "Tiers",
      ]),
    module(
      "Documents",
      [
        "Accounts", "Archive", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "JSON",
        "Objects", "Requests", "Storage", "Tiers",
      ]),
    module(
      "Mailboxes",
      [
        "Accounts", "Archive", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "JSON",
        "Requests", "Storage", "Tiers",
      ]),
    module(
      "Chains",
      [
        "Accounts", "Archive", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer",
        "HTTPSignatures", "JSON", "Requests", "Storage", "Tiers",
      ]),
    module(
      "Commits",
      [
        "Accounts", "Archive", "Base", "Chains", "Endpoints", "HTTPMessages", "HTTPServer", "JSON",
        "Mailboxes", "Requests", "Storage",
      ]),
    module(
      "KeyBackup",
      [
        "Accounts", "Archive", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer",
        "HTTPSignatures", "JSON", "Requests", "Storage",
      ]),
    module(
      "PublicLinks",
      [
        "Accounts", "Archive", "Base", "Crypto", "Endpoints", "HTTPMessages", "HTTPServer", "JSON",
        "Objects", "Requests", "Storage", "Tiers",
      ]),
    module(
      "KnownProtocols",
      [
        "Accounts", "Chains", "Commits", "Documents", "KeyBackup", "Logs", "Mailboxes",
        "PublicLinks", "Sync",
      ]),

    module("CommandLine", ["Base", "Configuration", "JSON"]),
    module(
      "Acts",
      [
        "Objects", "Requests",
        "Accounts", "Answers", "Archive", "Audit", "Backup", "Base", "Chains", "CommandLine",
        "Compression",
        "Configuration", "Crypto", "Documents", "Endpoints", "HTTPClient", "HTTPMessages",
        "HTTPServer", "JSON",
        "KnownStores", "Ledger", "Logs", "Orders", "ProviderAPI", "PublicLinks", "Repair", "Report",
        "Storage", "Stores",
        "Stripe", "Subscriptions", "Sync", "Tiers",
      ]),
    module(
      "Moving",
      [
        "Objects", "S3",
        "Accounts", "Acts", "Answers", "Archive", "Base", "CommandLine", "Configuration",
        "Crypto", "Documents", "JSON", "KnownProtocols", "KnownStores", "Ledger", "Logs", "Repair",
        "Storage", "Stores", "Subscriptions", "Sync", "Tiers",
      ]),
    module(
      "Doctor",
      [
        "Objects", "S3",
        "Accounts", "Acts", "Answers", "Backup", "Base", "CommandLine", "Configuration",
        "Crypto", "JSON", "KnownProtocols", "KnownStores", "Ledger", "ProviderAPI", "Repair",
        "Storage", "Stores",
        "Subscriptions", "Sync", "Tiers",
      ]),

    program(
      "Sources/Programs/coffer-sync",
      ["Configuration", "Endpoints", "KnownProtocols", "KnownStores", "Sync"]),
    program(
      "Sources/Programs/coffer-billing",
      ["Configuration", "Endpoints", "Billing", "KnownStores"]),
    program(
      "Sources/Programs/coffer",
      [
        "Objects", "S3",
        "Accounts", "Acts", "Answers", "Audit", "Backup", "Base", "Chains",
        "CommandLine",
        "Configuration", "Crypto", "Doctor", "Documents", "Flows", "HTTPClient", "HTTPMessages",
        "HTTPSignatures", "Importing", "JSON", "JWS", "Jobs", "KeyBackup", "KnownProtocols",
        "KnownStores",
        "Ledger", "Logs", "Mailboxes", "Moving",
        "Orders", "ProviderAPI", "PublicLinks", "Repair", "Report", "Storage",
        "Stores", "Stripe", "Subscriptions", "Sync", "Tiers",
      ]),

    // What tests share.
    support("Support/SeededRandom", [], optimized),
    support("Support/TestFiles", [], optimized),
    support("Support/Goldens", ["TestFiles"]),
    support("Support/NaiveTries", ["JSON"], optimized),
    support("Support/LocalServer", ["Base", "HTTPMessages", "HTTPServer"]),
    support("Support/TestCertificates", ["Base", "Crypto", "JSON", "JWS"]),
    support(
      "Support/TestDevices",
      [
        "Base", "Crypto", "HTTPClient", "HTTPMessages", "HTTPSignatures", "JSON",
      ]),
    support("Support/RawClient", []),
    support("Support/PushGateway", ["Base", "Crypto", "JSON"]),
    support("Support/TestEngines", ["Base", "Objects", "Postgres", "Storage", "TestFiles"]),
    support("Support/DescribedAPI", ["JSON", "TestEngines", "TestFiles"]),
    support(
      "Support/StoreFacts", ["Apple", "Base", "Google", "SeededRandom", "Subscriptions", "Tiers"]),
    support("Support/StripeSamples", ["Base", "JSON"]),
    support("Support/RecordedStories", ["Base", "Crypto", "JSON", "TestFiles"]),
    support("Support/Simulation", ["Base", "HTTPMessages", "HTTPServer"]),
    support(
      "Support/ClaimingDevice",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "Endpoints",
        "Storage", "Simulation",
      ]),

    support("Fakes/BucketFaults", ["Base"]),
    support("Support/TestBuckets", ["Base", "BucketFaults", "Crypto", "Objects", "S3"]),

    // The stores, in virtual time.
    support(
      "Fakes/ProviderFakes",
      [
        "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "SeededRandom",
        "TestCertificates",
      ]),
    support(
      "Support/RecordedAPI",
      ["Base", "HTTPMessages", "ProviderAPI", "ProviderFakes", "RecordedStories"]),
    program(
      "Tests/Fakes/provider-fakes",
      [
        "Base", "Crypto", "HTTPClient", "HTTPMessages", "HTTPServer", "JSON", "LocalServer",
        "ProviderFakes", "TestCertificates", "TestFiles",
      ]),
    tests(
      "Fakes/ProviderFakesTests",
      [
        "Base", "Configuration", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPClient",
        "HTTPServer", "Apple", "LocalServer", "ProviderFakes", "RecordedStories", "SeededRandom",
        "Subscriptions", "TestCertificates", "Tiers", "Google", "Stores", "BTCPay", "ProviderAPI",
      ]),

    // Whole stories in virtual time, for tests and for ops/simulate.
    .target(
      name: "SeededOpenSSL", dependencies: ["COpenSSL"], path: "Tests/Support/SeededOpenSSL"),
    support(
      "Support/BillingSimulation",
      [
        "Answers", "Apple", "BTCPay", "Base", "Billing", "ClaimingDevice", "Configuration",
        "Repair",
        "Crypto", "Endpoints", "Flows",
        "Google",
        "HTTPMessages", "HTTPServer", "JSON", "Jobs", "KnownStores", "Ledger", "ProviderAPI",
        "ProviderFakes", "RecordedStories", "Requests", "SeededRandom", "Simulation", "Storage",
        "Stores",
        "Stripe", "Subscriptions", "Sync", "TestCertificates", "TestEngines", "Tiers",
      ]),
    support(
      "Support/TreeSimulation",
      [
        "Objects",
        "Endpoints", "Accounts", "Base", "Crypto", "HTTPMessages", "HTTPServer", "HTTPSignatures",
        "JSON", "SeededRandom", "Requests", "Simulation", "Storage", "Sync", "TestDevices",
        "TestEngines", "Tiers",
      ]),
    support(
      "Support/ContentSimulation",
      [
        "Accounts", "Base", "Crypto", "HTTPMessages", "JSON", "Objects", "SeededRandom",
        "Simulation", "Storage", "Sync", "TestDevices", "TestEngines", "TestFiles", "Tiers",
        "TreeSimulation",
      ]),
    support(
      "Support/LogSimulation",
      [
        "Accounts", "Base", "Crypto", "JSON", "Logs", "NaiveTries", "Requests", "SeededRandom",
        "Simulation", "Storage", "Sync", "TestDevices", "TestEngines", "TreeSimulation",
      ]),
    support(
      "Support/DocumentSimulation",
      [
        "Accounts", "Base", "Crypto", "Documents", "JSON", "Logs", "Requests", "SeededRandom",
        "Simulation", "Storage", "Sync", "TestDevices", "TestEngines", "Tiers", "TreeSimulation",
      ]),
    support(
      "Support/MailboxSimulation",
      [
        "Accounts", "Base", "Crypto", "JSON", "Mailboxes", "Requests", "SeededRandom",
        "Simulation", "Storage", "Sync", "TestDevices", "TestEngines", "TreeSimulation",
      ]),
    support(
      "Support/ChainSimulation",
      [
        "Accounts", "Base", "Chains", "Commits", "Crypto", "Documents", "JSON", "Mailboxes",
        "Requests", "SeededRandom", "Simulation", "Storage", "Sync", "TestDevices",
        "TestEngines", "TreeSimulation",
      ]),
    program(
      "Tests/System/simulate",
      [
        "Base", "BillingSimulation", "ChainSimulation", "ContentSimulation", "Crypto",
        "DocumentSimulation", "LogSimulation", "MailboxSimulation", "SeededOpenSSL", "Simulation",
        "TreeSimulation",
      ],
      exclude: ["seeds.txt"]),

    // One module each, as in Sources.
    tests("Unit/BaseTests", ["Base", "RawClient", "SeededRandom", "TestFiles"]),
    tests("Unit/CryptoTests", ["Base", "Crypto", "TestCertificates", "SeededRandom"]),
    tests("Unit/CompressionTests", ["Base", "Compression", "SeededRandom", "TestFiles"]),
    tests("Unit/JSONTests", ["Base", "JSON", "SeededRandom"]),
    tests(
      "Unit/LogsTests",
      [
        "Base", "Endpoints", "Goldens", "HTTPMessages", "JSON", "Logs", "NaiveTries",
        "SeededRandom",
      ],
      exclude: ["Goldens"]),
    tests("Unit/JWSTests", ["Base", "Crypto", "JSON", "JWS", "SeededRandom"]),
    tests("Unit/HTTP/HTTPMessagesTests", ["Base", "JSON", "HTTPMessages"]),
    tests(
      "Unit/HTTP/HTTPSignaturesTests",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "SeededRandom", "TestFiles",
      ]),
    tests(
      "Unit/HTTP/HTTPServerTests",
      [
        "Base", "JSON", "HTTPMessages", "HTTPServer", "HTTPClient", "LocalServer",
        "RawClient", "SeededRandom",
      ]),
    tests(
      "Unit/Storage/StorageTests",
      [
        "Objects",
        "Base", "Crypto", "Migrations", "SQLite", "Postgres", "Storage", "TestEngines",
        "TestFiles", "SeededRandom",
      ]),
    tests(
      "Unit/Storage/S3Tests",
      [
        "Base", "BucketFaults", "Crypto", "HTTPClient", "Objects", "S3", "SeededRandom",
        "TestBuckets", "TestEngines",
      ]),
    tests("Unit/XMLTests", ["XML"]),
    tests("Unit/AuditTests", ["Audit", "Base", "JSON", "Storage", "TestEngines"]),
    tests("Unit/TiersTests", ["Base", "Tiers", "SeededRandom"]),
    tests(
      "Unit/ConfigurationTests",
      [
        "Base", "S3", "HTTPServer", "JSON", "Storage", "Tiers", "Configuration", "Goldens",
        "TestEngines",
        "TestFiles", "KnownStores", "Stripe", "Apple", "Google",
      ]),
    tests(
      "Unit/Billing/SubscriptionsTests",
      [
        "Apple", "Base", "Google", "SeededRandom", "StoreFacts", "Subscriptions", "Tiers",
      ]),
    tests(
      "Unit/ProviderAPITests",
      [
        "Base", "HTTPMessages", "HTTPServer", "LocalServer", "ProviderAPI", "SeededRandom",
        "TestFiles",
      ]),
    tests(
      "Unit/Billing/ReportTests",
      ["Base", "JSON", "Report", "SeededRandom", "Subscriptions", "Tiers"]),
    tests(
      "Unit/Billing/JobsTests", ["Base", "Jobs", "Storage", "SeededRandom", "TestEngines"]),
    tests(
      "Unit/Billing/StripeTests",
      [
        "Base", "Crypto", "Goldens", "HTTPMessages", "JSON", "ProviderAPI", "ProviderFakes",
        "SeededRandom", "StoreFacts", "Stores", "Stripe", "StripeSamples", "Subscriptions",
        "TestEngines", "Tiers",
      ], exclude: ["Goldens"]),
    tests(
      "Unit/Billing/AppleTests",
      [
        "Base", "Crypto", "HTTPMessages", "JSON", "JWS", "Subscriptions", "ProviderAPI", "Apple",
        "TestCertificates", "SeededRandom", "StoreFacts", "Stores", "Tiers",
      ]),
    tests(
      "Unit/Billing/GoogleTests",
      [
        "Base", "Configuration", "Crypto", "HTTPMessages", "JSON", "JWS", "ProviderAPI",
        "Subscriptions", "Google", "SeededRandom", "StoreFacts", "Stores", "Tiers",
      ]),
    tests(
      "Unit/Billing/BTCPayTests",
      [
        "Base", "BTCPay", "Configuration", "Crypto", "HTTPMessages", "HTTPServer", "JSON",
        "ProviderAPI", "SeededRandom", "Stores", "Subscriptions",
        "Tiers",
      ]),
    tests(
      "Unit/CommandLineTests",
      ["Base", "CommandLine", "Configuration", "JSON", "SeededRandom", "TestEngines"]),
    tests(
      "Unit/DoctorTests",
      ["Base", "Configuration", "Doctor", "KnownStores", "Storage", "TestEngines"]),
    tests("Unit/MovingTests", ["Archive", "Base", "Moving", "Sync", "TestEngines", "TestFiles"]),
    tests("Unit/Billing/ImportingTests", ["Importing", "SeededRandom"]),
    tests(
      "Unit/Billing/BillingTests",
      [
        "Accounts", "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "Storage",
        "Endpoints", "Tiers", "Configuration", "HTTPSignatures", "Subscriptions", "Stripe",
        "Apple", "Google", "ProviderAPI", "ProviderFakes", "Jobs", "Billing", "ClaimingDevice",
        "RecordedAPI", "RecordedStories", "StripeSamples", "TestCertificates", "TestEngines",
        "SeededRandom", "Answers", "Ledger", "Repair", "Stores", "KnownStores", "BTCPay",
        "Compression", "DescribedAPI", "Flows", "Goldens", "Orders", "Report", "Sync", "TestFiles",
      ], exclude: ["Goldens"]),
    tests(
      "Unit/SyncTests",
      [
        "Objects",
        "Accounts", "Archive", "Backup", "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures",
        "Chains", "Commits", "DescribedAPI",
        "Documents", "HTTPServer", "HTTPClient", "Endpoints", "KeyBackup", "Ledger", "Logs",
        "Mailboxes",
        "Storage", "Streams", "Tiers", "Configuration",
        "PublicLinks", "Requests", "Sync", "TestDevices", "TestEngines", "TestFiles", "Goldens",
        "LocalServer", "SeededRandom",
        "RawClient", "KnownStores", "BucketFaults", "S3", "TestBuckets", "ProviderAPI",
        "PushGateway", "WakeUps",
      ], exclude: ["PermissionMatrix.md"]),
    tests(
      "Unit/StreamsTests",
      ["Accounts", "Base", "HTTPServer", "SeededRandom", "Storage", "Streams"]),
    tests("Unit/TidyTests", ["TestFiles"]),

    // The programs, over sockets; whole stories, in every order.
    tests(
      "System/CommandTests",
      [
        "Objects",
        "Accounts", "Base", "Compression", "Crypto", "Goldens", "HTTPMessages", "HTTPServer",
        "JSON", "Jobs", "LocalServer",
        "ProviderFakes", "RecordedStories", "Storage", "Stripe", "TestEngines", "TestFiles",
      ], exclude: ["Goldens"]),
    tests(
      "System/SimulationTests",
      [
        "Answers", "Apple", "BTCPay", "Base", "Billing", "BillingSimulation", "Configuration",
        "Crypto",
        "Flows",
        "Google", "HTTPMessages", "HTTPServer", "JSON", "Jobs", "KnownStores", "Ledger",
        "ProviderAPI", "ProviderFakes",
        "Repair", "RecordedAPI", "RecordedStories", "SeededRandom", "Simulation", "Storage",
        "Stores",
        "Stripe",
        "Subscriptions", "TestEngines", "Tiers",
      ]),
    tests(
      "System/TreeModelTests",
      [
        "Base", "ChainSimulation", "ContentSimulation", "Crypto", "DocumentSimulation",
        "LogSimulation", "MailboxSimulation", "SeededRandom", "Simulation", "Storage", "Sync",
        "TestDevices", "TestEngines", "TreeSimulation",
      ]),
    tests(
      "System/ScenarioTests",
      [
        "Objects", "S3", "Backup", "Sync",
        "Archive", "Base", "Crypto", "Goldens", "JSON", "HTTPMessages", "HTTPClient", "SQLite",
        "Storage",
        "Configuration", "HTTPServer", "LocalServer", "ProviderFakes", "PushGateway", "RawClient",
        "RecordedAPI",
        "RecordedStories",
        "StripeSamples", "TestBuckets", "TestDevices", "TestEngines", "TestFiles",
        "SeededRandom",
        "KnownStores",
      ]),

    // Outside of what ships.
    program(
      "Benchmarks/bench",
      [
        "Objects",
        "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "HTTPSignatures", "Storage",
        "Tiers", "Subscriptions", "Billing", "LocalServer", "SeededRandom", "TestCertificates",
        "TestDevices", "TestFiles", "Stripe", "Apple", "Google", "Ledger", "Stores", "KnownStores",
        "SQLite", "Configuration", "Compression", "RecordedStories",
        "ProviderFakes",
      ]),
  ]
)

// libFuzzer's targets need a build of their own (ops/fuzz): nobody else's is to carry its loop.
if Context.environment["COFFER_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "Apple", "Base", "Compression", "Crypto", "Google", "HTTPMessages", "JSON", "JWS",
        "ProviderAPI", "Stripe",
        "Subscriptions", "TestCertificates",
      ], path: "Tests/Fuzz", exclude: ["corpus"], swiftSettings: settings))
}
