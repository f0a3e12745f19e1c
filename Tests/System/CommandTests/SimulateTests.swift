import Testing

/// The guarantees of `ops/simulate` about a seed.
@Suite struct SimulateTests {
  private static func run(_ simulation: String, _ seed: Int) throws -> Finished {
    try Finished(
      "simulate", [simulation, "\(seed)"], environment: ["SWIFT_DETERMINISTIC_HASHING": "1"])
  }

  @Test(
    arguments: [
      ("billing", "disk full"), ("chains", "the answer is lost"), ("content", "after lostAnswer"),
      ("documents", "the answer is lost"), ("logs", "the answer is lost"),
      ("mailboxes", "the answer is lost"), ("sync", "disk full"),
    ])
  func `a seed replays to the byte of its log`(simulation: String, mishap: String) throws {
    let first = try Self.run(simulation, 5)
    #expect(first.code == 0)
    #expect(first.out.contains("crash"))
    #expect(first.out.contains(mishap))
    let second = try Self.run(simulation, 5)
    #expect(second.out == first.out)
  }
}
