import Base
import Configuration
import Glibc
import KnownStores
import S3
import Testing

struct SettingsTests {
  static let complete = [
    "COFFER_DATABASE": "sqlite:///var/lib/coffer",
    "COFFER_OBJECTS": "file:///var/lib/coffer/objects",
    "COFFER_SYNC_AUTHORITIES": "sync.example.com",
  ]

  private func problems(_ environment: [String: String], file: String? = nil) throws -> [String] {
    let path = try file.map { try ScratchFile($0) }
    do {
      _ = try SyncConfiguration(Settings(.coffer, environment: environment, configPath: path?.path))
      return []
    } catch {
      return error.lines.map { line in
        path.map { line.replacingFirst($0.path, with: "FILE") } ?? line
      }
    }
  }

  @Test func `the required settings alone are enough`() throws {
    #expect(try problems(Self.complete) == [])
  }

  @Test(arguments: ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"])
  func `metrics on an address that other machines reach need a token`(address: String) throws {
    var environment = Self.complete.merging(["COFFER_METRICS_LISTEN": address]) { $1 }
    #expect(try problems(environment).count == 1)
    environment["COFFER_METRICS_TOKEN"] = "too short"
    #expect(
      try problems(environment) == [
        "COFFER_METRICS_TOKEN (environment): is not at least 16 printable characters without blanks"
      ])
    environment["COFFER_METRICS_TOKEN"] = "0123456789abcdef"
    #expect(try problems(environment) == [])
  }

  @Test func `variables of other programs are none of our business`() throws {
    let environment = Self.complete.merging(["PATH": "/bin", "COFFERDAM": ""]) { $1 }
    #expect(try problems(environment) == [])
  }

  @Test func `every problem is reported at once`() throws {
    let environment = [
      "COFFER_SYNC_LISTEN": "eighty", "COFFER_METRICS_LISTEN": "192.0.2.1:9464",
      "COFFER_OBJECTS": "/var/lib/coffer", "COFFER_TYPO": "x", "COFFER_MODE": "",
    ]
    #expect(
      try problems(environment) == [
        "COFFER_MODE (environment): is empty; unset it instead",
        "COFFER_TYPO (environment): no such setting",
        "COFFER_DATABASE: is required, e.g. sqlite:///var/lib/coffer",
        "COFFER_OBJECTS (environment): \"/var/lib/coffer\" is not file:///<directory>",
        "COFFER_SYNC_LISTEN (environment): \"eighty\" is not <address>:<port>, e.g. 0.0.0.0:8080",
        "COFFER_METRICS_LISTEN (environment): other machines reach \"192.0.2.1\", so "
          + "COFFER_METRICS_TOKEN is required",
        "COFFER_SYNC_AUTHORITIES: is required, e.g. sync.example.com",
      ])
  }

  @Test func `a file gives what the environment does not`() throws {
    let file = """
      # where things are
      COFFER_DATABASE = "sqlite:///var/lib/coffer"

      COFFER_OBJECTS='file:///var/lib/coffer/objects'
      COFFER_SYNC_AUTHORITIES=a.example, B.example:8443
      """
    let scratch = try ScratchFile(file)
    let configuration = try SyncConfiguration(
      Settings(.coffer, environment: ["COFFER_CONFIG": scratch.path]))
    #expect(configuration.authorities == ["a.example", "b.example:8443"])
    #expect(configuration.objects.main.location.directory == "/var/lib/coffer/objects")
  }

  @Test func `a mistyped setting is answered with the nearest one`() throws {
    #expect(
      try problems(Self.complete, file: "COFFER_DATABSE=x\n") == [
        "COFFER_DATABSE (FILE:1): no such setting; did you mean COFFER_DATABASE?"
      ])
  }

  @Test(arguments: [
    "https://app.example.com", "https://app.example.com:8443", "http://localhost:3000",
    "http://[::1]:3000", "capacitor://localhost", "https://a.example, https://b.example",
  ])
  func `web pages are named by their origins`(text: String) throws {
    let environment = Self.complete.merging(["COFFER_SYNC_ORIGINS": text]) { $1 }
    let configuration = try SyncConfiguration(Settings(.coffer, environment: environment))
    #expect(configuration.origins.count == text.split(separator: ",").count)
    #expect(configuration.origins.allSatisfy { text.contains($0) })
  }

  @Test(arguments: [
    "*", "null", "app.example.com", "https://", "https://app.example.com/",
    "https://app.example.com/x",
    "https://App.example.com", "https://app.example.com:443", "http://localhost:80",
    "http://app.example.com", "https://ada@app.example.com", "://app.example.com",
  ])
  func `what no browser would call an origin is refused`(text: String) throws {
    let environment = Self.complete.merging(["COFFER_SYNC_ORIGINS": text]) { $1 }
    let problems = try problems(environment)
    #expect(problems.count == 1)
    #expect(problems.first?.hasPrefix("COFFER_SYNC_ORIGINS (environment): \"\(text)\"") == true)
  }

  @Test func `clients of Actual have hosts and pages of their own`() throws {
    let environment = Self.complete.merging([
      "COFFER_ACTUAL_AUTHORITIES": "Budget.example.com, budget.example.com:8443",
      "COFFER_ACTUAL_ORIGINS": "https://actual.example.com",
      "COFFER_ACTUAL_FILES": "/opt/actual",
    ]) { $1 }
    let configuration = try SyncConfiguration(Settings(.coffer, environment: environment))
    #expect(
      configuration.actualAuthorities == ["budget.example.com", "budget.example.com:8443"])
    #expect(configuration.actualOrigins == ["https://actual.example.com"])
    #expect(configuration.actualFiles == "/opt/actual")
    #expect(configuration.origins.isEmpty)
    let none = try SyncConfiguration(Settings(.coffer, environment: Self.complete))
    #expect(none.actualAuthorities.isEmpty && none.actualOrigins.isEmpty)
    #expect(none.actualFiles == nil)
    let nowhere = try problems(Self.complete.merging(["COFFER_ACTUAL_FILES": "/opt/actual"]) { $1 })
    #expect(
      nowhere == [
        "COFFER_ACTUAL_FILES (environment): is set, but COFFER_ACTUAL_AUTHORITIES is not"
      ])
    let shared = try problems(
      Self.complete.merging(["COFFER_ACTUAL_AUTHORITIES": "sync.example.com"]) { $1 })
    #expect(shared.count == 1)
    #expect(shared.first?.contains("is a host of COFFER_SYNC_AUTHORITIES, too") == true)
  }

  @Test func `the environment wins over the file`() throws {
    let scratch = try ScratchFile("COFFER_SYNC_AUTHORITIES=file.example\n")
    let configuration = try SyncConfiguration(
      Settings(.coffer, environment: Self.complete, configPath: scratch.path))
    #expect(configuration.authorities == ["sync.example.com"])
  }

  @Test func `unknown, empty, doubled and malformed lines of the file are refused`() throws {
    let file = """
      COFFER_TYPO=x
      PATH=/bin
      COFFER_CONFIG=/etc/other
      COFFER_MODE=
      COFFER_PLANS=/a
      COFFER_PLANS=/b
      sk_live_pastedSecret
      COFFER_MODE="test
      """
    #expect(
      try problems(Self.complete, file: file).prefix(7) == [
        "COFFER_TYPO (FILE:1): no such setting",
        "a name that is not shown (FILE:2): no such setting",
        "COFFER_CONFIG (FILE:3): no such setting",
        "COFFER_MODE (FILE:4): is empty; remove it instead",
        "COFFER_PLANS (FILE:6): is set twice in the file",
        "FILE:7: is not KEY=value",
        "FILE:8: has a quote that does not end",
      ])
  }

  @Test(arguments: [mode_t(0o604), 0o644, 0o620, 0o660, 0o666])
  func `a file of secrets that others may read or write stops the start`(mode: mode_t) throws {
    let scratch = try ScratchFile("COFFER_SEALING_KEYS=hunter2hunter2\n")
    #expect(unsafe chmod(scratch.path, mode) == 0)
    let problems = settingsProblems(scratch)
    #expect(problems.count == 1)
    #expect(problems.first?.contains("COFFER_SEALING_KEYS") == true)
    #expect(problems.first?.contains("chmod 600") == true)
    #expect(problems.first?.contains("hunter2") == false)
  }

  @Test(arguments: [mode_t(0o600), 0o400])
  func `a file of secrets that its owner alone may read is taken`(mode: mode_t) throws {
    let scratch = try ScratchFile("COFFER_SEALING_KEYS=hunter2hunter2\n")
    #expect(unsafe chmod(scratch.path, mode) == 0)
    #expect(settingsProblems(scratch) == [])
  }

  @Test func `a group may read a file of secrets if the owner is root, and only then`() throws {
    let scratch = try ScratchFile("COFFER_SEALING_KEYS=hunter2hunter2\n")
    #expect(unsafe chmod(scratch.path, 0o640) == 0)
    #expect(settingsProblems(scratch).isEmpty == (geteuid() == 0))
  }

  @Test func `a file without secrets, or one for tests, may be everybody's`() throws {
    for text in [
      "COFFER_DATABASE=sqlite:///var/lib/coffer\n",
      "COFFER_DATABASE=postgres://db.example/coffer?sslmode=verify-full\n",
      "COFFER_SEALING_KEYS=hunter2hunter2\nCOFFER_MODE=test\n",
    ] {
      let scratch = try ScratchFile(text)
      #expect(unsafe chmod(scratch.path, 0o644) == 0)
      #expect(settingsProblems(scratch) == [], "\(text)")
    }
  }

  @Test(arguments: [
    "postgres://ada:hunter2@db.example/coffer", "postgres:///coffer?password=hunter2",
    "postgres:///coffer?pass%77ord=hunter2",
  ])
  func `a server's URL with a password is a secret, too`(url: String) throws {
    let scratch = try ScratchFile("COFFER_DATABASE=\(url)\n")
    #expect(unsafe chmod(scratch.path, 0o644) == 0)
    #expect(settingsProblems(scratch).count == 1)
  }

  /// The problems of a file itself, regardless of missing settings.
  private func settingsProblems(_ file: ScratchFile) -> [String] {
    EffectiveSettings.problems(
      Settings(.coffer, environment: [:], configPath: file.path), for: nil
    ).filter { $0.contains(file.path) && $0.contains("chmod") }
  }

  @Test func `a file that is not there is named`() throws {
    #expect(throws: ConfigurationError.self) {
      try SyncConfiguration(
        Settings(.coffer, environment: Self.complete, configPath: "/nowhere/coffer.env"))
    }
  }

  @Test(arguments: [
    "example.com:", "http://example.com", "a b", "example.com/", "example.com:0", ":80",
    "example.com:65536", "a,", "a,a", "[::1]x",
  ])
  func `an authority that no Host field can hold is refused`(text: String) throws {
    let environment = Self.complete.merging(["COFFER_SYNC_AUTHORITIES": text]) { $1 }
    #expect(try problems(environment).count == 1)
  }

  @Test func `limits are taken as numbers`() throws {
    let environment = Self.complete.merging([
      "COFFER_RECORDS_MAX": "10", "COFFER_REQUESTS_BURST": "11",
      "COFFER_REQUESTS_PER_SECOND": "12", "COFFER_DELETED_DAYS": "13", "COFFER_YOUNG_DAYS": "14",
      "COFFER_OPEN_INVITATIONS": "15", "COFFER_DAILY_INVITATIONS": "16",
      "COFFER_RECEIVED_INVITATIONS": "17", "COFFER_ACCOUNTS_PER_ADDRESS": "18",
      "COFFER_CONTENT_BYTES_MAX": "190000", "COFFER_MESSAGE_DAYS": "20",
    ]) { $1 }
    let limits = try SyncConfiguration(Settings(.coffer, environment: environment)).limits
    #expect(
      [
        limits.recordCountMax, limits.requestBurst, limits.requestsPerSecond, limits.deletedDays,
        limits.youngDays, limits.openInvitationCountMax, limits.invitationsPerDay,
        limits.receivedInvitationCountMax, limits.accountsPerAddress,
        limits.contentByteCountMax, limits.messageDays,
      ] == [10, 11, 12, 13, 14, 15, 16, 17, 18, 190_000, 20])
  }

  @Test func `the limits of live streams are taken as numbers, and each instance has all of them`()
    throws
  {
    let environment = Self.complete.merging([
      "COFFER_STREAMS_MAX": "30", "COFFER_STREAMS_PER_ACCOUNT": "8",
      "COFFER_STREAMS_PER_ADDRESS": "9", "COFFER_INSTANCES": "4",
    ]) { $1 }
    let streams = try SyncConfiguration(Settings(.coffer, environment: environment)).streams
    #expect(streams.countMax == 30)
    #expect([streams.countPerAccountMax, streams.countPerAddressMax] == [8, 9])
    let usual = try SyncConfiguration(Settings(.coffer, environment: Self.complete)).streams
    #expect(usual.countMax == nil)
  }

  @Test func `a push gateway needs its secrets, and none is asked unless one is named`() throws {
    let secret = "whsec_" + Base64.standard.encode([UInt8](repeating: 7, count: 32))
    let environment = Self.complete.merging([
      "COFFER_PUSH_URL": "https://push.example.com/coffer", "COFFER_PUSH_SECRETS": secret,
    ]) { $1 }
    let configuration = try SyncConfiguration(Settings(.coffer, environment: environment))
    #expect(configuration.pushGateway?.url == "https://push.example.com/coffer")
    #expect(configuration.pushGateway?.secrets.map(\.exposed.count) == [32])
    #expect(configuration.pushPause == .seconds(30))
    let usual = try SyncConfiguration(Settings(.coffer, environment: Self.complete))
    #expect(usual.pushGateway == nil)
    for missing in ["COFFER_PUSH_URL", "COFFER_PUSH_SECRETS"] {
      #expect(try problems(environment.filter { $0.key != missing }).count == 1)
    }
  }

  @Test func `what one may ask of all instances is divided among them, and never nothing`() throws {
    let environment = Self.complete.merging([
      "COFFER_INSTANCES": "4", "COFFER_REQUESTS_BURST": "11", "COFFER_REQUESTS_PER_SECOND": "3",
      "COFFER_ACCOUNTS_PER_ADDRESS": "30",
    ]) { $1 }
    let limits = try SyncConfiguration(Settings(.coffer, environment: environment)).limits
    #expect(
      [limits.requestBurst, limits.requestsPerSecond, limits.accountsPerAddress] == [2, 1, 7])
    #expect(try problems(Self.complete.merging(["COFFER_INSTANCES": "0"]) { $1 }).count == 1)
  }

  @Test(arguments: SyncConfiguration.Registration.allCases)
  func `registration is one of three words`(registration: SyncConfiguration.Registration) throws {
    let environment = Self.complete.merging(["COFFER_REGISTRATION": registration.rawValue]) { $1 }
    let configuration = try SyncConfiguration(Settings(.coffer, environment: environment))
    #expect(configuration.registration == registration)
  }

  @Test func `another word for registration is refused, and everybody registers by default`() throws
  {
    let environment = Self.complete.merging(["COFFER_REGISTRATION": "Open"]) { $1 }
    #expect(
      try problems(environment) == [
        "COFFER_REGISTRATION (environment): \"Open\" is neither open, invite nor closed"
      ])
    let configuration = try SyncConfiguration(Settings(.coffer, environment: Self.complete))
    #expect(configuration.registration == .open)
  }

  @Test(arguments: ["0", "1000001", "-1", "+5", "5.0", "many", "99999999999999999999"])
  func `a limit out of its range is refused in one line`(text: String) throws {
    let environment = Self.complete.merging(["COFFER_REQUESTS_BURST": text]) { $1 }
    #expect(
      try problems(environment) == [
        "COFFER_REQUESTS_BURST (environment): \"\(text)\" is no number from 1 to 1000000"
      ])
  }

  @Test func `nobody being young and no invitations are limits, too`() throws {
    let environment = Self.complete.merging([
      "COFFER_YOUNG_DAYS": "0", "COFFER_OPEN_INVITATIONS": "0", "COFFER_DAILY_INVITATIONS": "0",
    ]) { $1 }
    #expect(try problems(environment) == [])
  }

  @Test func `a bucket's keys are in their setting or in a file, not in both`() throws {
    let file = try ScratchFile("AKIA:secret\n")
    let environment = Self.complete.merging(["COFFER_OBJECTS_KEY_FILE": file.path]) { $1 }
    #expect(try problems(environment) == [])
    let wrong = try ScratchFile("AKIA\n")
    let cases = [
      (["COFFER_OBJECTS_KEY_FILE": wrong.path], "is not <access key id>:<secret access key>"),
      (
        ["COFFER_OBJECTS_KEY_FILE": file.path, "COFFER_OBJECTS_KEY": "A:b"],
        "is set beside COFFER_OBJECTS_KEY"
      ),
    ]
    for (settings, rule) in cases {
      #expect(
        try problems(Self.complete.merging(settings) { $1 }) == [
          "COFFER_OBJECTS_KEY_FILE (environment): \(rule)"
        ])
    }
  }

  @Test func `downloads from the store itself need a bucket, and a bucket takes 10,000 parts`()
    throws
  {
    let bucket = ["COFFER_OBJECTS": "s3://photos?region=eu-central-1"]
    let direct = ["COFFER_OBJECTS_DIRECT": "on"]
    let large = ["COFFER_CONTENT_BYTES_MAX": "83886080001"]
    func problems(_ settings: [String: String]...) throws -> [String] {
      try self.problems(settings.reduce(Self.complete) { $0.merging($1) { $1 } })
    }
    #expect(try problems(bucket, direct) == [])
    #expect(
      try problems(direct) == [
        "COFFER_OBJECTS_DIRECT (environment): needs a bucket in COFFER_OBJECTS"
      ])
    #expect(try problems(large) == [])
    #expect(
      try problems(bucket, large) == [
        "COFFER_CONTENT_BYTES_MAX (environment): a bucket takes at most 83886080000 bytes"
      ])
    let configuration = try SyncConfiguration(Settings(.coffer, environment: Self.complete))
    #expect(!configuration.isDirect)
  }

  @Test func `a virtual clock is refused in production`() throws {
    let clock = try ScratchFile("1767607200000\n")
    let environment = Self.complete.merging(["COFFER_TEST_CLOCK": clock.path]) { $1 }
    #expect(
      try problems(environment) == [
        "COFFER_TEST_CLOCK (environment): is refused unless COFFER_MODE=test"
      ])
  }

  @Test func `a virtual clock is read in test mode`() throws {
    let clock = try ScratchFile("1767607200000\n")
    let environment = Self.complete.merging([
      "COFFER_TEST_CLOCK": clock.path, "COFFER_MODE": "test",
    ]) { $1 }
    let configuration = try SyncConfiguration(Settings(.coffer, environment: environment))
    #expect(configuration.clock.now().milliseconds == 1_767_607_200_000)
  }

  @Test func `a virtual clock without a time stops the start`() throws {
    let clock = try ScratchFile("noon\n")
    let environment = Self.complete.merging([
      "COFFER_TEST_CLOCK": clock.path, "COFFER_MODE": "test",
    ]) { $1 }
    #expect(try problems(environment).count == 1)
  }
}
