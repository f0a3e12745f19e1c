import Base
import Crypto
import Google
import JSON
import Testing

/// Google's key set: read when it must be, never more often, and used while it cannot be read.
struct PushKeyTests {
  private func token(_ id: String, _ key: RSAPrivateKey, at now: Instant) -> String {
    let claims = Sample.claims([
      "iat": .integer(now.seconds), "exp": .integer(now.seconds + 3600),
    ])
    return Sample.bearer(
      claims, header: Sample.header(["kid": .string(id)]), sign: key.signature)
  }

  @Test func `an unknown id has the set read again, at most once a minute`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.now = Sample.now + .seconds(61)
    for number in 0..<50 {
      #expect(gate.refusal(token("x\(number)", Sample.otherKey, at: gate.now)) == .unknownKey)
    }
    #expect(gate.endpoint.requestCount == 2)
  }

  @Test func `a rotation is picked up at the first token of the new key`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.endpoint.answer(Sample.keySet([("k1", Sample.key), ("k2", Sample.otherKey)]))
    gate.now = Sample.now + .seconds(90)
    #expect(gate.refusal(token("k2", Sample.otherKey, at: gate.now)) == nil)
  }

  @Test(arguments: [
    ("max-age=60", 300), ("public, max-age=7200, must-revalidate", 7200),
    ("max-age=999999999", 86_400), ("max-age=x", 300), ("no-store", 300),
  ])
  func `the set is kept as long as it says, within bounds`(header: String, seconds: Int64) {
    let gate = Gate(Endpoint(headers: [("Cache-Control", header)]))
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.now = Sample.now + .seconds(seconds - 1)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    #expect(gate.endpoint.requestCount == 1)
    gate.now = Sample.now + .seconds(seconds + 1)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    #expect(gate.endpoint.requestCount == 2)
  }

  @Test func `the last good set serves for a day beyond its time, and not longer`() {
    let gate = Gate()
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.endpoint.answer(nil)
    gate.now = Sample.now + .hours(24)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.now = Sample.now + .hours(24) + .minutes(6)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == .keysUnavailable)
  }

  @Test(arguments: [nil, "{}", #"{"keys":[]}"#, "<html>", #"{"keys":[{"kty":"EC","kid":"k1"}]}"#])
  func `a set that never could be read proves nothing and forges nothing`(body: String?) {
    let endpoint = Endpoint()
    endpoint.answer(body.map { Array($0.utf8) })
    #expect(Gate(endpoint).refusal(Sample.bearer()) == .keysUnavailable)
  }

  @Test func `a broken set does not displace a good one`() {
    let gate = Gate()
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.endpoint.answer(Array("<html>".utf8))
    gate.now = Sample.now + .minutes(10)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
  }

  @Test func `many threads that meet an empty set read it once`() {
    let gate = Gate()
    let done = Locked(0)
    let believed = Locked(0)
    let threads = (0..<8).map { _ in
      Thread {
        for _ in 0..<20 where gate.refusal(Sample.bearer()) == nil {
          believed.withLock { $0 += 1 }
        }
        done.signal { $0 += 1 }
      }
    }
    for thread in threads { thread.join() }
    #expect(gate.endpoint.requestCount == 1)
    #expect(believed.withLock { $0 } > 0)
  }
}
