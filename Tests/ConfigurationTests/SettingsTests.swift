import Base
import Configuration
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
      _ = try SyncConfiguration(Settings(environment: environment, configPath: path?.path))
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
        "COFFER_METRICS_LISTEN (environment): \"192.0.2.1\" is not a loopback address",
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
      Settings(environment: ["COFFER_CONFIG": scratch.path]))
    #expect(configuration.authorities == ["a.example", "b.example:8443"])
    #expect(configuration.objectsDirectory == "/var/lib/coffer/objects")
  }

  @Test func `the environment wins over the file`() throws {
    let scratch = try ScratchFile("COFFER_SYNC_AUTHORITIES=file.example\n")
    let configuration = try SyncConfiguration(
      Settings(environment: Self.complete, configPath: scratch.path))
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

  @Test func `a file that is not there is named`() throws {
    #expect(throws: ConfigurationError.self) {
      try SyncConfiguration(Settings(environment: Self.complete, configPath: "/nowhere/coffer.env"))
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
    ]) { $1 }
    let limits = try SyncConfiguration(Settings(environment: environment)).limits
    #expect(
      [
        limits.recordCountMax, limits.requestBurst, limits.requestsPerSecond, limits.deletedDays,
        limits.youngDays, limits.openInvitationCountMax, limits.invitationsPerDay,
      ] == [10, 11, 12, 13, 14, 15, 16])
  }

  @Test(arguments: ["0", "1000001", "-1", "+5", " 5", "5.0", "many", "99999999999999999999"])
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
    let configuration = try SyncConfiguration(Settings(environment: environment))
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
