import Crypto
import SeededRandom
import Testing

@Suite struct ResumableSHA256Tests {
  @Test func `a digest that is saved and resumed at any byte of a block is the ordinary one`()
    throws
  {
    var random = SeededGenerator(seed: 20_261_127)
    let bytes = (0..<200).map { _ in UInt8.random(in: 0...255, using: &random) }
    let expected = SHA256.hash(bytes)
    for cut in 0...130 {
      var first = ResumableSHA256()
      unsafe first.update(bytes.span.bytes.extracting(0..<cut))
      #expect(first.digest == SHA256.hash(Array(bytes[..<cut])), "after \(cut) bytes")
      var second = try #require(ResumableSHA256(first.state))
      unsafe second.update(bytes.span.bytes.extracting(cut..<bytes.count))
      #expect(second.digest == expected, "cut at \(cut)")
    }
  }

  @Test func `bytes that are no state are refused`() {
    let state = ResumableSHA256().state
    #expect(state.count == 112)
    #expect(ResumableSHA256([]) == nil)
    #expect(ResumableSHA256(Array(state.dropLast())) == nil)
    // The number of bytes that wait for a whole block stands before the digest's length.
    var overfull = state
    overfull[104] = 64
    #expect(ResumableSHA256(overfull) == nil)
  }
}
