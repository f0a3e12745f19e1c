import Glibc

/// One address or a CIDR block of them, for lists of trusted proxies: `10.0.0.0/8`, `::1`.
package struct AddressRange: Hashable, Sendable {
  private let first: IPAddress
  private let bitCount: Int

  /// Nil unless the text is an IP literal, optionally with a prefix length that leaves no stray bits.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = IPAddress(String(parts[0])) else { return nil }
    let widthMax = first.isIPv4 ? 32 : 128
    var bitCount = widthMax
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(parts[1]), number <= widthMax
      else { return nil }
      bitCount = number
    }
    self.bitCount = bitCount + (128 - widthMax)
    guard first.masked(self.bitCount) == first else { return nil }
    self.first = first
  }

  package func contains(_ address: String) -> Bool {
    IPAddress(address).map { contains($0) } ?? false
  }

  func contains(_ address: IPAddress) -> Bool { address.masked(bitCount) == first }
}

/// An IP address as 128 bits; IPv4 in its mapped form (RFC 4291, section 2.5.5.2).
struct IPAddress: Hashable, Sendable {
  private let high: UInt64
  private let low: UInt64

  init?(_ text: String) {
    guard text.utf8.count < Int(INET6_ADDRSTRLEN) else { return nil }
    var four = in_addr()
    if unsafe inet_pton(AF_INET, text, &four) == 1 {
      high = 0
      low = 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: four.s_addr))
      return
    }
    var six = in6_addr()
    guard unsafe inet_pton(AF_INET6, text, &six) == 1 else { return nil }
    let words = unsafe six.__in6_u.__u6_addr32
    high = UInt64(UInt32(bigEndian: words.0)) << 32 | UInt64(UInt32(bigEndian: words.1))
    low = UInt64(UInt32(bigEndian: words.2)) << 32 | UInt64(UInt32(bigEndian: words.3))
  }

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  var hexText: String { String(high, radix: 16) + ":" + String(low, radix: 16) }

  var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

  func masked(_ bitCount: Int) -> IPAddress {
    IPAddress(
      high: bitCount >= 64 ? high : high & ~(UInt64.max >> UInt64(bitCount)),
      low: bitCount <= 64 ? 0 : low & ~(UInt64.max >> UInt64(bitCount - 64)))
  }
}
