import Base
import Crypto
import HTTPSignatures
import SeededRandom
import Testing

@Suite struct ContentDigestTests {
  /// RFC 9530, appendix B.1 and section 2; the digests are of `{"hello": "world"}` and a line feed.
  private static let both =
    "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:,"
    + "sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCs"
    + "yRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
  private let body = Array("{\"hello\": \"world\"}\n".utf8)

  private func refusal(_ field: String) -> SignatureRefusal? {
    do throws(SignatureRefusal) {
      _ = try ContentDigest.parse(Array(field.utf8))
      return nil
    } catch { return error }
  }

  @Test func `the RFC's digests match its body`() throws {
    #expect(try ContentDigest.parse(Array(Self.both.utf8)).matches(body))
  }

  @Test func `our own header matches`() throws {
    let field = ContentDigest.header(for: body)
    #expect(field == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:")
    #expect(try ContentDigest.parse(Array(field.utf8)).matches(body))
  }

  @Test func `every altered byte of a body is noticed`() throws {
    let digest = try ContentDigest.parse(Array(Self.both.utf8))
    for index in body.indices {
      var altered = body
      altered[index] ^= 1
      #expect(!digest.matches(altered), "byte \(index)")
    }
  }

  @Test func `of two digests both must match`() throws {
    let wrong = Base64.standard.encode(SHA256.hash([1]))
    let field = Self.both.replacing("RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=", with: wrong)
    #expect(try !ContentDigest.parse(Array(field.utf8)).matches(body))
  }

  @Test(arguments: [1, 2, 3])
  func `a body in pieces is compared like the whole`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let body = random.bytes(count: 3000)
    let field =
      "sha-512=:\(Base64.standard.encode(SHA512.hash(body))):, " + ContentDigest.header(for: body)
    let digest = try ContentDigest.parse(Array(field.utf8))
    let whole = digest.makeCheck()
    let short = digest.makeCheck()
    var rest = body[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(.random(in: 1...500, using: &random)))
      unsafe whole.update(piece.span.bytes)
      rest = rest.dropFirst(piece.count)
      if !rest.isEmpty { unsafe short.update(piece.span.bytes) }
    }
    #expect(whole.matches(), "seed \(seed)")
    #expect(!short.matches(), "seed \(seed)")
  }

  @Test func `an unknown algorithm beside a known one is ignored`() throws {
    let field = "md5=:AAAA:, " + ContentDigest.header(for: body)
    #expect(try ContentDigest.parse(Array(field.utf8)).values.count == 1)
  }

  @Test(arguments: ["md5=:AAAA:", "sha=:AAAA:", ""])
  func `a digest of unknown algorithms only is unsupported`(field: String) {
    #expect(refusal(field) == .digestUnsupported)
  }

  @Test(arguments: [
    "sha-256=:AAAA:", "sha-256=abc", "sha-256", "sha-256=(:AAAA:)", "sha-256=:!:", "SHA-256=:AAAA:",
    "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:, sha-256=:AAAA:",
    "sha-512=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
  ])
  func `a digest that is none is malformed`(field: String) {
    #expect(refusal(field) == .digestMalformed)
  }
}
