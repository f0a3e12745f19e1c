import Base
import Crypto
import Google
import JSON
import Testing

/// Google's key set: read when necessary, never more often, and used while it cannot be read.
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

  /// What an answer says of the set's time, and the seconds that it holds.
  static let ages: [(String, Int64)] = [
    ("max-age=60", 300), ("public, max-age=7200, must-revalidate", 7200),
    ("max-age=999999999", 86_400), ("max-age=x", 300), ("no-store", 300),
  ]

  @Test(arguments: ages)
  func `the set is read again when a tenth of its time is left, and serves meanwhile`(
    header: String, seconds: Int64
  ) {
    let gate = Gate(Endpoint(headers: [("Cache-Control", header)]))
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.now = Sample.now + .seconds(seconds * 9 / 10 - 1)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    #expect(gate.endpoint.requestCount == 1)
    gate.now = Sample.now + .seconds(seconds * 9 / 10 + 1)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    #expect(gate.endpoint.isAsked(2))
  }

  @Test(arguments: ages)
  func `the last good set serves for a day beyond its time, and not longer`(
    header: String, seconds: Int64
  ) {
    let gate = Gate(
      Endpoint(headers: [("Cache-Control", header)]), patience: .milliseconds(50))
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.endpoint.answer(nil)
    let end = Sample.now + .seconds(seconds) + .hours(24)
    gate.now = end + .seconds(-1)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.now = end
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == .keysUnavailable)
  }

  @Test(arguments: [nil, "{}", #"{"keys":[]}"#, "<html>", #"{"keys":[{"kty":"EC","kid":"k1"}]}"#])
  func `a set that never could be read proves nothing and forges nothing`(body: String?) {
    let endpoint = Endpoint()
    endpoint.answer(body.map { Array($0.utf8) })
    let gate = Gate(endpoint, patience: .milliseconds(50))
    #expect(gate.refusal(Sample.bearer()) == .keysUnavailable)
  }

  @Test func `a new key while its set cannot be read is unproven, and no forgery`() {
    let gate = Gate(patience: .milliseconds(50))
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.endpoint.answer(nil)
    gate.now = Sample.now + .seconds(90)
    for _ in 0..<2 {
      #expect(gate.refusal(token("k2", Sample.otherKey, at: gate.now)) == .keysUnavailable)
    }
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
  }

  @Test func `while the set is read, known keys serve, and a new one waits for it`() throws {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.now = Sample.now + .seconds(90)
    let (old, new) = (
      token("k1", Sample.key, at: gate.now), token("k2", Sample.otherKey, at: gate.now)
    )
    gate.endpoint.answer(Sample.keySet([("k1", Sample.key), ("k2", Sample.otherKey)]))
    let believed = Locked<[Bool]>([])
    gate.endpoint.meanwhile { [unowned gate] in
      #expect(gate.refusal(old) == nil)
      // Neither of these blocks the thread that reads.
      for token in [new, new] {
        guard
          case .waiting(let start)? = try? gate.verifier.prove(authorization: token, now: gate.now)
        else { continue }
        start { result in believed.signal { $0.append((try? result.get()) != nil) } }
      }
    }
    #expect(gate.refusal(new) == nil)
    _ = believed.wait(until: .now() + .seconds(10)) { $0.count == 2 ? true : nil }
    #expect(believed.withLock { $0 } == [true, true])
    #expect(gate.endpoint.requestCount == 2)
  }

  @Test func `forged ids during a read do not have the set read on and on`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.now = Sample.now + .seconds(90)
    let count = Locked(0)
    gate.endpoint.meanwhile { [unowned gate] in
      for number in 0..<20 {
        let forged = self.token("x\(number)", Sample.otherKey, at: gate.now)
        guard
          case .waiting(let start)? = try? gate.verifier.prove(authorization: forged, now: gate.now)
        else { continue }
        start { _ in count.signal { $0 += 1 } }
      }
    }
    #expect(gate.refusal(token("x", Sample.otherKey, at: gate.now)) == .unknownKey)
    _ = count.wait(until: .now() + .seconds(10)) { $0 == 20 ? true : nil }
    #expect(count.withLock { $0 } == 20)
    #expect(gate.endpoint.requestCount == 2)
  }

  @Test func `so many wait for the first set, and further ones are told to come again`() {
    let gate = Gate()
    let answers = Locked<[Bool]>([])
    let isFull = Locked(false)
    gate.endpoint.meanwhile { _ = isFull.wait(until: .now() + .seconds(10)) { $0 ? true : nil } }
    for _ in 0..<PushKeys.waiterCountMax {
      guard
        case .waiting(let start)? = try? gate.verifier.prove(
          authorization: Sample.bearer(), now: gate.now)
      else { continue }
      start { result in answers.signal { $0.append((try? result.get()) != nil) } }
    }
    #expect(gate.refusal(Sample.bearer()) == .keysUnavailable)
    isFull.signal { $0 = true }
    _ = answers.wait(until: .now() + .seconds(20)) { answers in
      answers.count == PushKeys.waiterCountMax ? true : nil
    }
    #expect(answers.withLock { $0 } == Array(repeating: true, count: PushKeys.waiterCountMax))
  }

  @Test func `a clock set back does not hold up the next read of the set`() {
    let gate = Gate()
    #expect(gate.refusal(Sample.bearer()) == nil)
    gate.endpoint.answer(Sample.keySet([("k2", Sample.otherKey)]))
    gate.now = Sample.now + .hours(-12)
    #expect(gate.refusal(token("k2", Sample.otherKey, at: gate.now)) == nil)
  }

  @Test func `a key of another algorithm in the set signs no push`() {
    let set = String(decoding: Sample.keySet(), as: UTF8.self)
    let other = set.split(separator: "RS256").joined(separator: "PS256")
    let good = String(decoding: Sample.keySet([("k2", Sample.otherKey)]), as: UTF8.self)
    let both = other.dropLast(2) + "," + good.dropFirst(#"{"keys":["#.count)
    let gate = Gate(Endpoint(Array(both.utf8)))
    #expect(gate.refusal(token("k2", Sample.otherKey, at: gate.now)) == nil)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == .unknownKey)
  }

  @Test func `a token that was proven needs no key again while it holds`() {
    let gate = Gate()
    let bearer = Sample.bearer()
    #expect(gate.refusal(bearer) == nil)
    gate.endpoint.answer(Sample.keySet([("k2", Sample.otherKey)]))
    gate.now = Sample.now + .minutes(30)
    #expect(gate.refusal(token("k2", Sample.otherKey, at: gate.now)) == nil)
    #expect(gate.refusal(bearer) == nil)
    #expect(gate.refusal(Sample.bearer(Sample.claims(["sub": "111"]))) == .unknownKey)
  }

  @Test func `a broken set does not displace a good one`() {
    let gate = Gate()
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
    gate.endpoint.answer(Array("<html>".utf8))
    gate.now = Sample.now + .minutes(10)
    #expect(gate.refusal(token("k1", Sample.key, at: gate.now)) == nil)
  }

  @Test func `many threads that meet an empty set read it once, and all are believed`() {
    let gate = Gate()
    let believed = Locked(0)
    let threads = (0..<8).map { _ in
      Thread {
        for _ in 0..<20 where gate.refusal(Sample.bearer()) == nil {
          believed.withLock { $0 += 1 }
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(gate.endpoint.requestCount == 1)
    #expect(believed.withLock { $0 } == 160)
  }
}
