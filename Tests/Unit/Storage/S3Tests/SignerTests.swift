import Base
import Crypto
import S3
import Testing

/// The examples of https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
@Suite struct SignerTests {
  private static let signer = BucketSigner(
    BucketKeys(
      id: "AKIAIOSFODNN7EXAMPLE", secret: Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")),
    region: "us-east-1")

  private static func signature(
    _ method: String, _ path: String, query: [(String, String)] = [],
    headers: [(String, String)] = [], digest: [UInt8] = BucketSigner.emptyDigest
  ) throws -> String {
    let signed = signer.signed(
      method, host: "examplebucket.s3.amazonaws.com", path: path, query: query, headers: headers,
      digest: digest, at: Instant(seconds: 1_369_353_600))
    let field = try #require(signed.last { $0.0 == "Authorization" })
    return String(field.1.split(separator: "=").last ?? "")
  }

  @Test func `a read of a range is signed as Amazon publishes it`() throws {
    let signature = try Self.signature("GET", "/test.txt", headers: [("Range", "bytes=0-9")])
    #expect(signature == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
  }

  @Test func `a write is signed as Amazon publishes it`() throws {
    let signature = try Self.signature(
      "PUT", "/test%24file.text",
      headers: [
        ("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY"),
      ], digest: SHA256.hash(Array("Welcome to Amazon S3.".utf8)))
    #expect(signature == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
  }

  @Test func `a query without a value is signed as Amazon publishes it`() throws {
    let signature = try Self.signature("GET", "/", query: [("lifecycle", "")])
    #expect(signature == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
  }

  @Test func `a list is signed as Amazon publishes it`() throws {
    let signature = try Self.signature("GET", "/", query: [("prefix", "J"), ("max-keys", "2")])
    #expect(signature == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
  }

  /// https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
  @Test func `a URL for reading is signed as Amazon publishes it`() {
    let query = Self.signer.query(
      forReading: "/test.txt", host: "examplebucket.s3.amazonaws.com", seconds: 86400,
      at: Instant(seconds: 1_369_353_600))
    #expect(
      query.hasSuffix(
        "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
          + "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"))
  }

  @Test func `the token of keys that end is sent and signed`() throws {
    let signer = BucketSigner(
      BucketKeys(id: "A", secret: Secret("b"), token: Secret("tok")), region: "auto")
    let signed = signer.signed(
      "GET", host: "a", path: "/", query: [], headers: [], digest: BucketSigner.emptyDigest,
      at: Instant(seconds: 0))
    #expect(signed.contains { $0.0 == "x-amz-security-token" && $0.1 == "tok" })
    #expect(signed.last?.1.contains("x-amz-date;x-amz-security-token") == true)
  }
}
