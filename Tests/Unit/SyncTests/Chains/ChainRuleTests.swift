import Base
import Crypto
import SeededRandom
import TestDevices
import Testing

@testable import Chains

/// The pure part of chains: membership at a point, and the rule of forks. No SQL.
@Suite struct ChainRuleTests {
  private func block(
    _ epoch: Int64, by author: UInt8, after parent: [UInt8]?, adding additions: [UInt8] = [],
    removing removals: [UInt8] = []
  ) -> ChainBlock {
    ChainBlock(
      chain: Identifier(high: 1, low: 1), parent: parent, epoch: epoch, author: [author],
      additions: additions.map { [$0] }, removals: removals.map { [$0] },
      hash: [UInt8(truncatingIfNeeded: epoch), author] + additions + removals, signature: [])
  }

  private func chain(_ author: UInt8) throws -> ChainMembers {
    try ChainMembers(root: block(0, by: author, after: nil, adding: [author]))
  }

  @Test func `a block changes who is a member from its epoch on`() throws {
    var members = try chain(1)
    try members.append(block(1, by: 1, after: members.head.hash, adding: [2, 3]))
    try members.append(block(2, by: 3, after: members.head.hash, adding: [4], removing: [2]))
    #expect(members.since == [[1]: 0, [3]: 1, [4]: 2])
    #expect(members.count == 3)
    #expect(members.head.epoch == 2)
  }

  @Test func `a refused block changes nothing`() throws {
    var members = try chain(1)
    try members.append(block(1, by: 1, after: members.head.hash, adding: [2]))
    let (head, since) = (members.head, members.since)
    let refusals: [(ChainBlock, ChainRule)] = [
      (block(2, by: 1, after: [9], adding: [3]), .parentDiffers),
      (block(3, by: 1, after: head.hash, adding: [3]), .epochDiffers),
      (block(2, by: 3, after: head.hash, adding: [3]), .authorNotMember),
      (block(2, by: 1, after: head.hash, removing: [1]), .authorRemoved),
      (block(2, by: 1, after: head.hash, adding: [3], removing: [4]), .notMember),
      (block(2, by: 1, after: head.hash, adding: [3, 2]), .alreadyMember),
    ]
    for (refused, rule) in refusals {
      #expect(throws: rule) { try members.append(refused) }
      #expect(members.since == since)
      #expect(members.head == head)
    }
  }

  @Test func `the members before a block are those that it was made for`() throws {
    var members = try chain(1)
    try members.append(block(1, by: 1, after: members.head.hash, adding: [2]))
    let before = members
    let next = block(2, by: 2, after: members.head.hash, adding: [3, 4])
    try members.append(next)
    let back = members.before(next, parent: before.head.hash)
    #expect(back.since == before.since)
    #expect(back.head == before.head)
    #expect(back.count == before.count)
  }

  @Test func `the older member wins, then the smaller key, and only the last block that adds`() {
    let now = Instant(seconds: 1_780_000_000)
    let since: [[UInt8]: Int64] = [[1]: 0, [2]: 3, [3]: 3, [9]: 7]
    func wins(
      _ author: UInt8, over other: UInt8, parent: [UInt8] = [0], removing removals: [UInt8] = [],
      age: Instant.Span = .seconds(1)
    ) -> Bool {
      ChainFork.replaces(
        block(7, by: other, after: [0], adding: [9], removing: removals), stored: now - age,
        with: block(7, by: author, after: parent), since: since, now: now)
    }
    #expect(wins(1, over: 2) && !wins(2, over: 1))
    #expect(wins(2, over: 3) && !wins(3, over: 2))
    #expect(!wins(2, over: 2))
    #expect(!wins(9, over: 2) && !wins(8, over: 2))
    #expect(!wins(1, over: 2, parent: [5]))
    #expect(!wins(1, over: 2, removing: [3]))
    #expect(wins(1, over: 2, age: .days(1)) && !wins(1, over: 2, age: .hours(25)))
  }

  /// However blocks for one place come, the winner is the same, unless they have to wait for each other.
  @Test func `the order in which rivals come does not matter`() {
    let seed = SeededGenerator.seed(of: "ChainRuleTests")
    var random = SeededGenerator(seed: seed)
    let now = Instant(seconds: 1_780_000_000)
    for _ in 0..<200 {
      let keys = (0..<6).map { UInt8($0) }
      let since = Dictionary(
        uniqueKeysWithValues: keys.map { ([$0], Int64.random(in: 0..<4, using: &random)) })
      var winners: Set<[UInt8]> = []
      for _ in 0..<4 {
        let rivals = keys.shuffled(using: &random).map { block(7, by: $0, after: [0]) }
        winners.insert(
          rivals.dropFirst().reduce(rivals[0]) { head, rival in
            ChainFork.replaces(head, stored: now, with: rival, since: since, now: now)
              ? rival : head
          }.author)
      }
      #expect(winners.count == 1, "seed \(seed)")
    }
  }
}
