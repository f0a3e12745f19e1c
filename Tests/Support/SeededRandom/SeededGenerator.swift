import Glibc

/// Random numbers that a seed repeats (SplitMix64, https://prng.di.unimi.it/splitmix64.c).
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  /// The seed of this run: `COFFER_TEST_SEED` if set, otherwise a new one. It is printed so that the run can
  /// be repeated.
  package static func seed(of test: String) -> UInt64 {
    let given = unsafe getenv("COFFER_TEST_SEED").flatMap { UInt64(unsafe String(cString: $0)) }
    let seed = given ?? UInt64.random(in: .min ... .max)
    print("\(test): COFFER_TEST_SEED=\(seed)")
    return seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  package mutating func bytes(count: Int) -> [UInt8] {
    (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
  }
}
