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
]

func system(_ name: String, _ library: String, debian package: String) -> Target {
  .systemLibrary(
    name: name, path: "Sources/System/\(name)", pkgConfig: library,
    providers: [.apt([package])])
}

func module(_ path: String, _ dependencies: [Target.Dependency]) -> Target {
  let name = String(path.split(separator: "/").last!)
  return .target(
    name: name, dependencies: dependencies, path: "Sources/\(path)", swiftSettings: settings)
}

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, path: "Sources/Programs/\(name)",
    swiftSettings: settings)
}

func tests(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: exclude,
    swiftSettings: settings)
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

    module("Base", []),
    module("Crypto", ["Base", "COpenSSL"]),
    module("JSON", ["Base", "CJansson"]),
    module("JWS", ["Base", "JSON"]),

    module("HTTP/HTTPMessages", ["Base", "JSON"]),
    module("HTTP/HTTPSignatures", ["Base", "Crypto", "HTTPMessages"]),
    module("HTTP/HTTPServer", ["Base", "HTTPMessages", "CMicrohttpd"]),
    module("HTTP/HTTPClient", ["Base", "HTTPMessages", "CCurl"]),

    .target(
      name: "Migrations", path: "migrations",
      resources: [.embedInCode("sync"), .embedInCode("billing")], swiftSettings: settings),
    module("Storage/SQLite", ["Base", "CSQLite"]),
    module("Storage/Postgres", ["Base", "CPostgres"]),
    module("Storage/Storage", ["Base", "Crypto", "Migrations", "SQLite", "Postgres"]),

    module("Tiers", ["Base"]),
    module(
      "Configuration",
      ["Base", "Crypto", "JSON", "HTTPServer", "HTTPClient", "Storage", "Tiers"]),
    module("Endpoints", ["Base", "JSON", "HTTPMessages", "HTTPServer", "Storage"]),

    module("Billing/Jobs", ["Base", "Storage"]),
    module("Billing/ProviderAPI", ["Base", "HTTPMessages", "HTTPClient"]),
    module("Billing/Subscriptions", ["Base", "Tiers"]),
    module(
      "Billing/Apple",
      ["Base", "Crypto", "HTTPMessages", "JSON", "JWS", "ProviderAPI", "Subscriptions"]),
    module(
      "Billing/Stripe",
      ["Base", "Crypto", "HTTPMessages", "JSON", "ProviderAPI", "Subscriptions"]),
    module(
      "Billing/Google",
      [
        "Base", "Crypto", "HTTPClient", "HTTPMessages", "JSON", "JWS", "ProviderAPI",
        "Subscriptions",
      ]),
    module(
      "Billing/Billing",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPServer", "Storage", "Endpoints", "Tiers",
        "Configuration", "HTTPSignatures", "Subscriptions", "Stripe", "Apple", "Google",
        "ProviderAPI", "Jobs",
      ]),

    .target(
      name: "OpenAPI", path: "Sources/OpenAPI", resources: [.embedInCode("openapi.json")],
      swiftSettings: settings),
    module(
      "Sync",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "Storage",
        "Endpoints", "Tiers", "Configuration", "OpenAPI",
      ]),

    program("coffer-sync", ["Configuration", "Endpoints", "Sync"]),
    program("coffer-billing", ["Configuration", "Endpoints", "Billing"]),
    program(
      "coffer",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "HTTPClient",
        "Storage", "Tiers", "Configuration", "Jobs", "ProviderAPI", "Subscriptions", "Stripe",
        "Billing", "Sync",
      ]),

    .target(
      name: "SeededRandom", path: "Tests/SeededRandom", swiftSettings: settings),
    .target(
      name: "TestCertificates", dependencies: ["Base", "Crypto", "JSON", "JWS"],
      path: "Tests/TestCertificates", swiftSettings: settings),
    .target(
      name: "TestDevices",
      dependencies: ["Base", "Crypto", "HTTPClient", "HTTPMessages", "HTTPSignatures", "JSON"],
      path: "Tests/TestDevices", swiftSettings: settings),
    program(
      "bench",
      [
        "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "HTTPSignatures", "Storage",
        "Tiers", "Subscriptions", "Billing", "SeededRandom", "TestCertificates", "TestDevices",
      ]),

    tests("BaseTests", ["Base", "SeededRandom"]),
    tests("CryptoTests", ["Base", "Crypto", "TestCertificates", "SeededRandom"]),
    tests("JSONTests", ["Base", "JSON", "SeededRandom"]),
    tests("JWSTests", ["Base", "Crypto", "JSON", "JWS", "SeededRandom"]),
    tests("HTTPMessagesTests", ["Base", "JSON", "HTTPMessages"]),
    tests(
      "HTTPSignaturesTests",
      ["Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "SeededRandom"]),
    .target(name: "RawClient", path: "Tests/RawClient", swiftSettings: settings),
    tests(
      "HTTPServerTests",
      ["Base", "JSON", "HTTPMessages", "HTTPServer", "HTTPClient", "RawClient", "SeededRandom"]),
    .target(
      name: "TestEngines", dependencies: ["Base", "Postgres", "Storage"], path: "Tests/TestEngines",
      swiftSettings: settings),
    tests(
      "StorageTests",
      [
        "Base", "Crypto", "Migrations", "SQLite", "Postgres", "Storage", "TestEngines",
        "SeededRandom",
      ]),
    tests("TiersTests", ["Base", "Tiers", "SeededRandom"]),
    tests("ConfigurationTests", ["Base", "HTTPServer", "Storage", "Tiers", "Configuration"]),
    tests("CommandTests", ["Base", "Jobs", "Storage"], exclude: ["Goldens"]),
    tests(
      "SubscriptionsTests", ["Base", "Tiers", "Subscriptions", "SeededRandom"],
      exclude: ["Goldens"]),
    .target(
      name: "StripeSamples", dependencies: ["Base", "JSON"], path: "Tests/StripeSamples",
      swiftSettings: settings),
    .target(
      name: "RecordedStories", dependencies: ["Base", "JSON"], path: "Tests/RecordedStories",
      swiftSettings: settings),
    tests(
      "SyncTests",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "HTTPClient",
        "Endpoints", "Storage", "Tiers", "Configuration", "Sync", "TestDevices", "TestEngines",
        "SeededRandom",
        "RawClient",
      ], exclude: ["PermissionMatrix.md"]),
    tests(
      "TreeModelTests",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "HTTPClient",
        "Storage", "Tiers", "Sync", "TestDevices", "TestEngines", "SeededRandom",
      ]),
    tests("JobsTests", ["Base", "Jobs", "Storage", "SeededRandom", "TestEngines"]),
    tests(
      "ProviderAPITests",
      ["Base", "HTTPMessages", "HTTPServer", "ProviderAPI", "SeededRandom"]),
    .target(
      name: "ProviderFakes",
      dependencies: [
        "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "SeededRandom",
        "TestCertificates",
      ],
      path: "Tests/ProviderFakes", swiftSettings: settings),
    .executableTarget(
      name: "provider-fakes",
      dependencies: [
        "Base", "Crypto", "HTTPClient", "HTTPMessages", "HTTPServer", "JSON", "ProviderFakes",
        "TestCertificates",
      ],
      path: "Tests/provider-fakes", swiftSettings: settings),
    tests(
      "StripeTests",
      [
        "Base", "Crypto", "HTTPMessages", "JSON", "ProviderAPI", "ProviderFakes", "SeededRandom",
        "Subscriptions", "Stripe", "StripeSamples", "Tiers",
      ]),
    tests(
      "ProviderFakesTests",
      [
        "Base", "Configuration", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPClient",
        "HTTPServer", "Apple", "ProviderFakes", "RecordedStories", "SeededRandom", "Subscriptions",
        "TestCertificates", "Tiers",
      ]),
    tests(
      "AppleTests",
      [
        "Base", "Crypto", "HTTPMessages", "JSON", "JWS", "Subscriptions", "ProviderAPI", "Apple",
        "TestCertificates", "SeededRandom",
      ]),
    .target(
      name: "ClaimingDevice",
      dependencies: [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPSignatures", "HTTPServer", "Endpoints",
        "Storage",
      ], path: "Tests/ClaimingDevice", swiftSettings: settings),
    tests(
      "SimulationTests",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPServer", "Storage", "Endpoints", "Tiers",
        "Subscriptions", "Stripe", "Apple", "Google", "ProviderAPI", "Jobs", "Billing",
        "Configuration", "ClaimingDevice", "ProviderFakes", "RecordedStories", "SeededRandom",
        "TestCertificates",
        "TestEngines",
      ]),
    tests(
      "GoogleTests",
      [
        "Base", "Crypto", "HTTPMessages", "JSON", "JWS", "ProviderAPI", "Subscriptions", "Google",
        "SeededRandom",
      ]),
    tests("TidyTests", []),
    tests(
      "BillingTests",
      [
        "Base", "Crypto", "JSON", "JWS", "HTTPMessages", "HTTPServer", "Storage", "Endpoints",
        "Tiers", "Configuration", "HTTPSignatures", "Subscriptions", "Stripe", "Apple", "Google",
        "ProviderAPI", "ProviderFakes", "Jobs", "Billing", "ClaimingDevice", "RecordedStories",
        "StripeSamples", "TestCertificates",
        "TestEngines", "SeededRandom",
      ]),
    tests(
      "ScenarioTests",
      [
        "Base", "Crypto", "JSON", "HTTPMessages", "HTTPClient", "SQLite", "Storage",
        "Configuration", "HTTPServer", "RawClient", "RecordedStories", "StripeSamples",
        "TestDevices", "TestEngines",
        "SeededRandom",
      ]),
  ]
)

// libFuzzer's targets need a build of their own (ops/fuzz): nobody else's is to carry its loop.
if Context.environment["COFFER_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "fuzz",
      dependencies: [
        "Apple", "Base", "Crypto", "Google", "HTTPMessages", "JSON", "JWS", "ProviderAPI", "Stripe",
        "Subscriptions", "TestCertificates",
      ], path: "Tests/Fuzz", exclude: ["corpus"], swiftSettings: settings))
}
