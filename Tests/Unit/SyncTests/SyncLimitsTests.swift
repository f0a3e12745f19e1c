import Accounts
import Base
import Configuration
import KnownStores
import Testing

@Suite struct SyncLimitsTests {
  private func limits(_ settings: [String: String]) throws -> SyncLimits {
    let needed = [
      "COFFER_DATABASE": "sqlite:///tmp/coffer", "COFFER_OBJECTS": "file:///tmp/objects",
      "COFFER_SYNC_AUTHORITIES": "sync.example.com",
    ]
    let environment = needed.merging(settings) { $1 }
    return SyncLimits(try SyncConfiguration(Settings(.coffer, environment: environment)).limits)
  }

  @Test func `the documented defaults are those that hold`() throws {
    #expect(try limits([:]) == SyncLimits())
  }

  @Test func `each setting becomes its limit`() throws {
    var expected = SyncLimits()
    expected.recordCountMax = 1
    expected.requestBurst = 2
    expected.requestsPerSecond = 3
    expected.deletionHorizon = .days(4)
    expected.messageSpan = .days(10)
    expected.youngAge = .days(5)
    expected.openInvitationCountMax = 6
    expected.invitationsPerDay = 7
    expected.receivedInvitationCountMax = 8
    expected.accountsPerAddress = 9
    expected.contentByteCountMax = 100_000
    expected.linkBytesPerDay = 1_000_001
    let settings = [
      "COFFER_RECORDS_MAX": "1", "COFFER_REQUESTS_BURST": "2", "COFFER_REQUESTS_PER_SECOND": "3",
      "COFFER_DELETED_DAYS": "4", "COFFER_YOUNG_DAYS": "5", "COFFER_OPEN_INVITATIONS": "6",
      "COFFER_DAILY_INVITATIONS": "7", "COFFER_RECEIVED_INVITATIONS": "8",
      "COFFER_ACCOUNTS_PER_ADDRESS": "9", "COFFER_CONTENT_BYTES_MAX": "100000",
      "COFFER_MESSAGE_DAYS": "10",
      "COFFER_LINK_BYTES_PER_DAY": "1000001",
    ]
    #expect(try limits(settings) == expected)
  }
}
