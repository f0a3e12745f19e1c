import Apple
import Base
import Crypto
import JSON
import JWS
import TestCertificates
import Testing

/// A genuine outer signature vouches for nothing inside it.
struct InnerForgeryTests {
  private func answer(transaction: JSONValue) -> AppleRefusal? {
    refusal(Sample.body(data: ["signedTransactionInfo": transaction]))
  }

  private func answer(renewal: JSONValue) -> AppleRefusal? {
    refusal(Sample.body(data: ["signedRenewalInfo": renewal]))
  }

  private func signed(_ algorithm: String, _ sign: ([UInt8]) -> [UInt8]) -> JSONValue {
    .string(
      CompactJWS.compact(
        header: [
          "alg": .string(algorithm), "x5c": .array(Sample.chain.x5c.map { .string($0) }),
        ], payload: Sample.transactionPayload(), sign: sign))
  }

  @Test func `an inner transaction of another root is refused`() {
    let forged = Sample.transaction(chain: Sample.newChain())
    #expect(answer(transaction: forged) == .inner(.transaction, .wrongRoot))
  }

  @Test func `an inner renewal of another root is refused`() {
    let forged = Sample.renewal(chain: Sample.newChain())
    #expect(answer(renewal: forged) == .inner(.renewal, .wrongRoot))
  }

  @Test func `an inner transaction with another's signature is refused`() {
    let forged = signed("ES256", P256PrivateKey().signature)
    #expect(answer(transaction: forged) == .inner(.transaction, .badSignature))
  }

  @Test func `an unsigned inner transaction is refused`() {
    let forged = signed("none") { _ in [0] }
    #expect(answer(transaction: forged) == .inner(.transaction, .algorithm(.none)))
  }

  @Test func `an inner transaction by a chain without the marker is refused`() {
    let chain = Sample.newChain(root: Sample.chain.root) { $0.leaf.markers = [] }
    let forged = Sample.transaction(chain: chain)
    #expect(answer(transaction: forged) == .inner(.transaction, .missingMarker(.leaf)))
  }

  @Test func `an inner transaction of another app is refused`() {
    let other = Sample.transaction(["bundleId": "com.example.other"])
    #expect(answer(transaction: other) == .inner(.transaction, .wrongBundle))
  }

  @Test func `a sandbox transaction in a production notification is refused`() {
    let sandbox = Sample.transaction(["environment": "Sandbox"])
    #expect(answer(transaction: sandbox) == .inner(.transaction, .wrongEnvironment))
  }

  @Test func `a sandbox renewal in a production notification is refused`() {
    let sandbox = Sample.renewal(["environment": "Sandbox"])
    #expect(answer(renewal: sandbox) == .inner(.renewal, .wrongEnvironment))
  }

  @Test func `an inner transaction from the future is refused`() {
    let future = Sample.transaction(["signedDate": Sample.date(.hours(1))])
    #expect(answer(transaction: future) == .inner(.transaction, .inFuture))
  }

  @Test func `an inner text that is no JWS is refused`() {
    #expect(answer(transaction: "") == .inner(.transaction, .malformed))
    #expect(answer(transaction: 7) == .inner(.transaction, .malformed))
    #expect(answer(renewal: ["a"]) == .inner(.renewal, .malformed))
  }

  @Test func `a transaction and a renewal of two subscriptions are refused`() {
    #expect(answer(renewal: Sample.renewal(["originalTransactionId": "7"])) == .contradiction)
  }

  @Test func `what is missing inside is not forged`() {
    #expect(answer(transaction: .null) == nil)
    #expect(answer(renewal: .null) == nil)
  }
}
