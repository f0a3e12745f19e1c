import Base
import Crypto
import SeededRandom
import TestCertificates
import Testing

struct X509Tests {
  private static let from = Instant(seconds: 1_760_000_000)
  private static let to = from + .days(365)
  private static let middle = from + .days(100)

  private func chain(
    root: TestCertificate? = nil, _ spoil: (inout AppleTestChain.Plans) -> Void = { _ in }
  ) -> AppleTestChain {
    AppleTestChain(notBefore: Self.from, notAfter: Self.to, root: root, spoil)
  }

  /// Nil if the chain is accepted.
  private func refusal(
    _ chain: AppleTestChain, trusted: TestCertificate? = nil, at moment: Instant = middle
  ) throws -> X509Refusal? {
    let root = try #require(X509Certificate(der: (trusted ?? chain.root).der))
    let trust = try #require(X509Trust(roots: [root]))
    let leaf = try #require(X509Certificate(der: chain.leaf.der))
    let intermediate = try #require(X509Certificate(der: chain.intermediate.der))
    do {
      try trust.verify(leaf: leaf, intermediate: intermediate, at: moment)
      return nil
    } catch { return error }
  }

  @Test func `a chain of three to the root is accepted`() throws {
    #expect(try refusal(chain()) == nil)
  }

  @Test func `a root of the same name is another root`() throws {
    #expect(try refusal(chain(), trusted: chain().root) == .untrusted)
  }

  @Test func `a certificate holds from its first second to before its last`() throws {
    let chain = chain()
    #expect(try refusal(chain, at: Self.from - .seconds(1)) == .notYetValid)
    #expect(try refusal(chain, at: Self.from) == nil)
    #expect(try refusal(chain, at: Self.to - .milliseconds(1)) == nil)
    #expect(try refusal(chain, at: Self.to) == .expired)
  }

  @Test func `asking one certificate gives the same limits`() throws {
    let leaf = try #require(X509Certificate(der: chain().leaf.der))
    #expect(!leaf.isValid(at: Self.from - .milliseconds(1)))
    #expect(leaf.isValid(at: Self.from))
    #expect(leaf.isValid(at: Self.to - .milliseconds(1)))
    #expect(!leaf.isValid(at: Self.to))
  }

  @Test func `validity is asked of every certificate`() throws {
    let early = Self.middle - .days(1)
    #expect(try refusal(chain { $0.leaf.notAfter = early }) == .expired)
    #expect(try refusal(chain { $0.intermediate.notAfter = early }) == .expired)
    #expect(try refusal(chain { $0.root.notAfter = early }) == .expired)
    let late = Self.middle + .days(1)
    #expect(try refusal(chain { $0.leaf.notBefore = late }) == .notYetValid)
  }

  @Test func `an intermediate must be an authority`() throws {
    #expect(try refusal(chain { $0.intermediate.isAuthority = false }) == .unsuitable(code: 79))
  }

  @Test func `a path must not be longer than the root allows`() throws {
    #expect(try refusal(chain { $0.root.pathLength = 0 }) == .unsuitable(code: 25))
  }

  @Test func `an unknown critical extension is refused`() throws {
    let refusal = try refusal(chain { $0.leaf.criticalExtension = "1.2.3.4" })
    #expect(refusal == .unsuitable(code: 34))
  }

  @Test func `an intermediate of another root is refused`() throws {
    let ours = chain()
    let other = chain()
    let root = try #require(X509Certificate(der: ours.root.der))
    let trust = try #require(X509Trust(roots: [root]))
    let leaf = try #require(X509Certificate(der: ours.leaf.der))
    let intermediate = try #require(X509Certificate(der: other.intermediate.der))
    #expect(throws: X509Refusal.untrusted) {
      try trust.verify(leaf: leaf, intermediate: intermediate, at: Self.middle)
    }
  }

  @Test func `markers are extensions, not bytes`() throws {
    let chain = chain { $0.leaf.commonName = "with \u{6}\u{A} in its name" }
    let leaf = try #require(X509Certificate(der: chain.leaf.der))
    #expect(leaf.hasExtension(AppleTestChain.leafMarker))
    #expect(!leaf.hasExtension(AppleTestChain.intermediateMarker))
    #expect(!leaf.hasExtension("no name"))
  }

  @Test func `an authority says so and a leaf does not`() throws {
    let chain = chain()
    let intermediate = try #require(X509Certificate(der: chain.intermediate.der))
    let leaf = try #require(X509Certificate(der: chain.leaf.der))
    #expect(intermediate.isAuthority)
    #expect(!leaf.isAuthority)
  }

  @Test func `a certificate tells its validity and its key`() throws {
    let chain = chain()
    let leaf = try #require(X509Certificate(der: chain.leaf.der))
    #expect(leaf.notBefore == Self.from)
    #expect(leaf.notAfter == Self.to)
    #expect(leaf.p256PublicKey?.x963 == chain.leaf.key.publicKey.x963)
  }

  @Test func `the year 2050 is written and read in its own form`() throws {
    let end = Instant(seconds: 2_524_608_000)
    let chain = chain { $0.leaf.notAfter = end }
    #expect(X509Certificate(der: chain.leaf.der)?.notAfter == end)
  }

  @Test(arguments: [TestCertificatePlan.KeyKind.p384, .ed25519])
  func `another kind of key is no P-256 key`(kind: TestCertificatePlan.KeyKind) throws {
    let chain = chain { $0.leaf.keyKind = kind }
    #expect(try refusal(chain) == nil)
    let leaf = try #require(X509Certificate(der: chain.leaf.der))
    #expect(leaf.p256PublicKey == nil)
  }

  @Test func `what is not exactly one certificate is none`() {
    let der = chain().leaf.der
    #expect(X509Certificate(der: []) == nil)
    #expect(X509Certificate(der: der + [0]) == nil)
    #expect(X509Certificate(der: Array(der.dropLast())) == nil)
    #expect(X509Certificate(der: [UInt8](repeating: 0x30, count: 9000)) == nil)
  }

  @Test func `no altered bit leads to the root`() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed(of: "X509Tests.bit"))
    let chain = chain()
    let root = try #require(X509Certificate(der: chain.root.der))
    let trust = try #require(X509Trust(roots: [root]))
    let intermediate = try #require(X509Certificate(der: chain.intermediate.der))
    for _ in 0..<500 {
      var der = chain.leaf.der
      let place = Int.random(in: der.indices, using: &random)
      der[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      guard let leaf = X509Certificate(der: der) else { continue }
      #expect(throws: X509Refusal.self, "byte \(place)") {
        try trust.verify(leaf: leaf, intermediate: intermediate, at: Self.middle)
      }
    }
  }
}
