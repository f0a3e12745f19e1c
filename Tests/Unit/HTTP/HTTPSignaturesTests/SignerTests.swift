import Base
import Crypto
import HTTPMessages
import HTTPSignatures
import SeededRandom
import Testing

@Suite struct SignerTests {
  private struct Sample {
    let key: Ed25519PrivateKey
    let method: String
    let target: String
    let scheme: String
    let body: [UInt8]?
    let nonce: [UInt8]

    init(_ random: inout SeededGenerator) {
      key = Ed25519PrivateKey(seed: Secret(random.bytes(count: 32)))!
      method = ["GET", "HEAD", "PUT", "POST", "DELETE"].randomElement(using: &random)!
      let letters = Array("abc/%41-._~?&=+;,:@!$'()*")
      let tail = (0..<Int.random(in: 0...40, using: &random))
        .map { _ in String(letters.randomElement(using: &random)!) }
      target = "/" + tail.joined()
      scheme = Bool.random(using: &random) ? "http" : "https"
      body =
        Bool.random(using: &random)
        ? random.bytes(count: .random(in: 0...300, using: &random)) : nil
      nonce = random.bytes(count: .random(in: 6...48, using: &random))
    }

    func head() -> RequestHead {
      let signer = RequestSigner(key: key, authority: "Sync.Example.com", scheme: scheme)
      var headers = signer.headers(
        method: method, target: target, body: body, created: TestRequest.now, nonce: nonce)
      if let body { headers.append(("Content-Length", String(body.count))) }
      return RequestHead(
        method: method, target: target, headers: Headers(headers),
        authority: "sync.example.com", scheme: scheme)
    }
  }

  @Test(arguments: 1...40)
  func `what the signer signs the verifier accepts`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let sample = Sample(&random)
    let signature = try verify(
      sample.head(), policy: TestRequest.policy, now: TestRequest.now)
    #expect(signature.keyID == sample.key.publicKey, "seed \(seed)")
    #expect(signature.nonce == Array(Base64.url.encode(sample.nonce).utf8), "seed \(seed)")
    #expect(signature.expires == TestRequest.now + .seconds(300), "seed \(seed)")
    if let body = sample.body, !body.isEmpty {
      #expect(signature.contentDigest?.matches(body) == true, "seed \(seed)")
    }
  }

  @Test(arguments: 1...12)
  func `any altered bit of what is signed is refused`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let head = Sample(&random).head()
    for field in head.headers.fields where field.name != "content-length" {
      for _ in 0..<40 {
        var value = field.value
        let index = value.indices.randomElement(using: &random)!
        value[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
        // A label is not signed, but one that is altered in one header only is refused.
        var headers = Headers()
        for other in head.headers.fields {
          headers.append(other.name, other.name == field.name ? value : other.value)
        }
        let altered = RequestHead(
          method: head.method, target: head.target, headers: headers,
          authority: head.authority, scheme: head.scheme)
        #expect(refusal(altered) != nil, "seed \(seed), \(field.name), byte \(index)")
      }
    }
  }

  @Test(arguments: 1...12)
  func `an altered request line is refused`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let head = Sample(&random).head()
    let targets = [head.target + "x", head.target + "?", head.target + "&a=1", "//" + head.target]
    for target in targets where target != head.target {
      let isSameQuery = target == head.target + "?" && head.query == nil
      let altered = RequestHead(
        method: head.method, target: target, headers: head.headers, authority: head.authority,
        scheme: head.scheme)
      // RFC 9421, section 2.2.7, gives a missing query and an empty one the same value.
      #expect((refusal(altered) == nil) == isSameQuery, "seed \(seed), \(target)")
    }
    let method = head.method == "PUT" ? "POST" : "PUT"
    let altered = RequestHead(
      method: method, target: head.target, headers: head.headers, authority: head.authority,
      scheme: head.scheme)
    #expect(refusal(altered) == .badSignature(authority: TestRequest.host), "seed \(seed)")
  }
}
