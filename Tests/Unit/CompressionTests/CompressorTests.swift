import Compression
import SeededRandom
import TestFiles
import Testing

@Suite struct CompressorTests {
  /// The dictionaries of two stores stand for two versions of one.
  private static let first = dictionary("Stripe/stripe_1")
  private static let second = dictionary("BTCPay/btcpay_1")

  private static func dictionary(_ name: String) -> [UInt8] {
    guard let bytes = Files.bytes("\(Files.repository)/Sources/Billing/\(name).zdict") else {
      preconditionFailure("there is no dictionary \(name)")
    }
    return bytes
  }

  private static let text = Array(
    #"{"object":"event","livemode":true,"type":"invoice.paid","data":{"object":"invoice"}}"#.utf8)

  private func refusal(_ body: () throws -> Void) -> CompressionError? {
    do {
      try body()
      return nil
    } catch { return error as? CompressionError }
  }

  @Test(arguments: [0, 1, 2, 63, 64, 4096, 100_000, 1 << 20])
  func `what was compressed comes back, whatever it is`(count: Int) throws {
    let seed = SeededGenerator.seed(of: "compressed bytes")
    var random = SeededGenerator(seed: seed)
    let noise = random.bytes(count: count)
    let words = (0..<count).map { _ in UInt8(ascii: "a") + UInt8(random.next() % 4) }
    for compressor in [Compressor.plain, Compressor(dictionaries: [Self.first])] {
      for bytes in [noise, words, [0] + noise, [0] + words] {
        let frame = compressor.compress(bytes)
        #expect(Compressor.isCompressed(frame))
        let isSame = try compressor.decompress(frame, byteCountMax: bytes.count) == bytes
        #expect(isSame, "seed \(seed)")
      }
    }
  }

  @Test func `a dictionary makes short texts shorter`() {
    let plain = Compressor.plain.compress(Self.text).count
    let small = Compressor(dictionaries: [Self.first]).compress(Self.text).count
    #expect(small < plain * 2 / 3, "\(small) of \(plain) bytes")
  }

  @Test func `what a dictionary compressed opens when there is a newer one`() throws {
    let before = Compressor(dictionaries: [Self.first])
    let after = Compressor(dictionaries: [Self.first, Self.second])
    let (old, new) = (before.compress(Self.text), after.compress(Self.text))
    #expect(old != new)
    #expect(try after.decompress(old, byteCountMax: 1000) == Self.text)
    #expect(try after.decompress(new, byteCountMax: 1000) == Self.text)
    let plain = Compressor.plain.compress(Self.text)
    #expect(try after.decompress(plain, byteCountMax: 1000) == Self.text)
  }

  @Test func `what another dictionary compressed is refused by its number`() {
    let frame = Compressor(dictionaries: [Self.first]).compress(Self.text)
    for compressor in [Compressor.plain, Compressor(dictionaries: [Self.second])] {
      #expect(
        refusal { _ = try compressor.decompress(frame, byteCountMax: 1000) }
          == .unknownDictionary(40101))
    }
  }

  @Test func `a text longer than the caller takes is refused`() throws {
    let frame = Compressor.plain.compress([UInt8](repeating: 65, count: 1 << 20))
    #expect(frame.count < 200)
    #expect(
      refusal { _ = try Compressor.plain.decompress(frame, byteCountMax: 1 << 20 - 1) } == .tooLong)
  }

  /// The header announces 2^56 bytes (RFC 8878, section 3.1.1.1.4).
  @Test func `a frame that announces more than there is memory is refused unread`() {
    let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0]
    #expect(
      refusal { _ = try Compressor.plain.decompress(frame, byteCountMax: 1 << 30) } == .tooLong)
  }

  @Test func `a frame that does not say its length is refused`() {
    // The magic number, no content size, a window, an empty last block.
    let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, 0x58, 1, 0, 0]
    #expect(
      refusal { _ = try Compressor.plain.decompress(frame, byteCountMax: 1000) } == .malformed)
  }

  @Test func `every shorter or longer frame is refused`() {
    let compressor = Compressor(dictionaries: [Self.first])
    let frame = compressor.compress(Self.text)
    for count in 0..<frame.count {
      #expect(throws: CompressionError.self, "\(count) bytes") {
        try compressor.decompress(Array(frame[..<count]), byteCountMax: 1000)
      }
    }
    #expect(
      refusal { _ = try compressor.decompress(frame + [0], byteCountMax: 1000) } == .malformed)
  }

  @Test func `altered frames are refused or are something else, and end`() {
    let seed = SeededGenerator.seed(of: "altered frames")
    var random = SeededGenerator(seed: seed)
    let compressor = Compressor(dictionaries: [Self.first, Self.second])
    let frame = compressor.compress(Self.text + random.bytes(count: 50))
    var refused = 0
    for _ in 0..<20_000 {
      var altered = frame
      for _ in 0...(random.next() % 3) {
        altered[Int.random(in: 4..<frame.count, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      if let text = try? compressor.decompress(altered, byteCountMax: 1000) {
        #expect(text.count <= 1000, "seed \(seed)")
      } else {
        refused += 1
      }
    }
    #expect(refused > 1000, "seed \(seed)")
  }

  @Test func `a message in clear does not look compressed`() {
    for text in ["Stripe-Signature: t=1,v1=00\r\n\r\n{}", "\r\n\r\n{}", "BTCPay-Sig: a", "", "(µ/"]
    {
      #expect(!Compressor.isCompressed(Array(text.utf8)))
    }
  }
}
