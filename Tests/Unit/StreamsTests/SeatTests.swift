import Base
import Streams
import Testing

@Suite struct SeatTests {
  private static let ada = Identifier(high: 1, low: 1)
  private static let bob = Identifier(high: 2, low: 2)

  private static let limits: StreamLimits = {
    var limits = StreamLimits()
    limits.countMax = 4
    limits.countPerAccountMax = 2
    limits.countPerAddressMax = 3
    return limits
  }()

  @Test func `an account, an address and the instance have so many streams`() throws {
    let seats = Seats(Self.limits, trustsProxies: true)
    let first = try [Self.ada, Self.ada].map { try seats.take(for: $0, from: "192.0.2.1") }
    #expect(throws: StreamRefusal.tooManyOfAccount(max: 2)) {
      try seats.take(for: Self.ada, from: "192.0.2.2")
    }
    let third = try seats.take(for: Self.bob, from: "192.0.2.1")
    #expect(throws: StreamRefusal.tooManyOfAddress(max: 3)) {
      try seats.take(for: Self.bob, from: "192.0.2.1")
    }
    let fourth = try seats.take(for: Self.bob, from: "192.0.2.2")
    #expect(throws: StreamRefusal.full) {
      try seats.take(for: Identifier(high: 3, low: 3), from: "192.0.2.3")
    }
    withExtendedLifetime((first, third, fourth)) {}
  }

  @Test func `a seat is free again when its holder goes`() throws {
    let seats = Seats(Self.limits, trustsProxies: true)
    for _ in 0..<20 {
      let taken = try (0..<2).map { _ in try seats.take(for: Self.ada, from: "192.0.2.1") }
      #expect(taken.count == 2)
    }
  }

  @Test func `an IPv6 network is one address`() throws {
    let seats = Seats(Self.limits, trustsProxies: true)
    let taken = try [Self.ada, Self.ada, Self.bob].enumerated().map { index, account in
      try seats.take(for: account, from: "2001:db8::\(index + 1)")
    }
    #expect(throws: StreamRefusal.tooManyOfAddress(max: 3)) {
      try seats.take(for: Self.bob, from: "2001:db8::9")
    }
    withExtendedLifetime(taken) {}
  }

  @Test func `without trusted proxies this machine's own address is not counted`() throws {
    let seats = Seats(Self.limits, trustsProxies: false)
    let accounts = [Self.ada, Self.ada, Self.bob, Self.bob]
    let taken = try accounts.map { try seats.take(for: $0, from: "127.0.0.1") }
    #expect(taken.count == 4)
  }
}
