/// MurmurHash3 of Austin Appleby, x86-32 with the seed 0. Anyone can make texts of equal hash, so equal trees show that
/// nothing was lost by accident, and prove nothing about who wrote what.
enum MurmurHash3 {
  static func hash(_ bytes: [UInt8]) -> Int32 {
    var hash: UInt32 = 0
    let blockEnd = bytes.count & ~3
    for start in stride(from: 0, to: blockEnd, by: 4) {
      let block =
        UInt32(bytes[start]) | UInt32(bytes[start + 1]) << 8 | UInt32(bytes[start + 2]) << 16
        | UInt32(bytes[start + 3]) << 24
      hash ^= mixed(block)
      hash = (hash << 13 | hash >> 19) &* 5 &+ 0xe654_6b64
    }
    var tail: UInt32 = 0
    for index in (blockEnd..<bytes.count).reversed() { tail = tail << 8 | UInt32(bytes[index]) }
    hash ^= mixed(tail)
    hash ^= UInt32(truncatingIfNeeded: bytes.count)
    hash = (hash ^ hash >> 16) &* 0x85eb_ca6b
    hash = (hash ^ hash >> 13) &* 0xc2b2_ae35
    return Int32(bitPattern: hash ^ hash >> 16)
  }

  private static func mixed(_ block: UInt32) -> UInt32 {
    let product = block &* 0xcc9e_2d51
    return (product << 15 | product >> 17) &* 0x1b87_3593
  }
}
