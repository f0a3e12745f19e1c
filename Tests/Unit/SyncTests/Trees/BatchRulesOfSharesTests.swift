import Accounts
import Base
import Sync
import Testing

/// Checks the rules of shares and links in every small case against tables. See `BatchRulesTests`.
@Suite struct BatchRulesOfSharesTests {
  typealias World = SmallWorld

  private static let states: [Share.State?] = [nil] + Share.State.allCases

  /// Alice's folder 1 with her document 2 in it.
  private static func world() -> SmallWorld {
    var world = SmallWorld()
    world.add(
      World.File(
        id: 1, owner: World.alice, parent: World.aliceRoot, kind: .folder, name: 1))
    world.add(World.File(id: 2, owner: World.alice, parent: 1, kind: .document, name: 2))
    return world
  }

  private static func link(
    _ id: Int, of owner: Int, in parent: Int, to target: Int
  ) -> SmallWorld.File {
    World.File(id: id, owner: owner, parent: parent, kind: .link, name: id, target: target)
  }

  // MARK: Shares

  /// Worlds that differ in which of Alice's files is deleted, and in whether the folder contains a link of
  /// hers.
  private static var worlds: [SmallWorld] {
    [nil, 1, 2].flatMap { deleted in
      [false, true].map { hasLink in
        var world = Self.world()
        if hasLink { world.add(link(3, of: World.alice, in: 1, to: World.carolRoot)) }
        if let deleted, var file = world.files[deleted] {
          file.isDeleted = true
          world.add(file)
        }
        return world
      }
    }
  }

  @Test func `a change of a share, in every state, by whoever has what part in it`() throws {
    var (count, seen) = (0, Set<Rule>())
    for world in Self.worlds {
      for file in [World.aliceRoot, 1, 2, 3, World.missing] {
        for state in Self.states {
          for carolsMode in [nil, .write] as [Share.Mode?] {
            var world = world
            if let state {
              world.shares[.init(file: file, account: World.bob)] = .init(mode: .read, state: state)
            }
            if let carolsMode {
              world.shares[.init(file: 1, account: World.carol)] = .init(
                mode: carolsMode, state: .accepted)
            }
            for caller in [World.alice, World.bob, World.carol] {
              count += try compare(world, caller, file, &seen)
            }
          }
        }
      }
    }
    #expect(count == 48_600)
    #expect(
      seen == [
        .fileNotFound, .rootImmutable, .linkNotShareable, .fileDeleted, .notPermitted, .notOwner,
        .shareWithOwner, .shareNotFound, .shareStale, .signatureInvalid, .accountNotFound,
        .linkInSharedFolder,
      ])
  }

  private func compare(
    _ world: SmallWorld, _ caller: Int, _ file: Int, _ seen: inout Set<Rule>
  ) throws -> Int {
    let table = RuleTable(world: world, caller: caller)
    let snapshot = world.snapshot(seenBy: caller)
    var count = 0
    for action in SmallGrant.Action.allCases {
      for account in [World.bob, World.alice, World.nobody] {
        let state = world.state(file, account)
        for expectation in Self.states {
          for isSigned in state == expectation ? [true, false] : [true] {
            let grant = SmallGrant(
              action: action, file: file, account: account, expectation: expectation,
              isSigned: isSigned)
            let rule = table.rule(grant)
            let found = try broken(snapshot, shares: [grant])
            if found != (rule.map { [$0] } ?? []) {
              Issue.record(
                "\(caller): \(grant) in \(world): \(found), not \(String(describing: rule))")
            }
            if let rule { seen.insert(rule) }
            count += 1
          }
        }
      }
    }
    return count
  }

  @Test(arguments: [false, true])
  func `one who has a link rejects its share together with it alone`(seesFolder: Bool) throws {
    var count = 0
    for state in Self.states {
      for hasLink in [false, true] {
        for deletesLink in hasLink ? [false, true] : [false] {
          var world = Self.world()
          if seesFolder {
            world.shares[.init(file: 1, account: World.bob)] = .init(mode: .read, state: .accepted)
          }
          if let state {
            world.shares[.init(file: 2, account: World.bob)] = .init(mode: .read, state: state)
          }
          let link = Self.link(4, of: World.bob, in: World.bobRoot, to: 2)
          if hasLink { world.add(link) }
          var deleted = link
          deleted.isDeleted = true
          let files =
            deletesLink
            ? [
              SmallChange(
                expectation: .at(parent: World.bobRoot, name: 4), file: deleted)
            ] : []
          let grant = SmallGrant(action: .reject, file: 2, account: World.bob, expectation: state)
          let found = try broken(
            world.snapshot(seenBy: World.bob), files: files, shares: [grant])
          let isLive = state?.isLive == true
          let expected: [Rule] =
            !isLive
            ? [seesFolder ? .shareStale : .fileNotFound]
            : hasLink && !deletesLink ? [.linkExists] : []
          #expect(found == expected, "\(String(describing: state)), \(hasLink), \(deletesLink)")
          count += 1
        }
      }
    }
    #expect(count == 15)
  }

  @Test func `a grant keeps every bound, and asks whether it is taken`() throws {
    var (count, seen) = (0, Set<[Rule]>())
    for state in Self.states {
      var world = Self.world()
      if let state {
        world.shares[.init(file: 2, account: World.bob)] = .init(mode: .read, state: state)
      }
      let grant = SmallGrant(action: .grant, file: 2, account: World.bob, expectation: state)
      let isNew = state?.isLive != true
      for (live, all, between) in Self.bounds {
        for (isBlocked, isContact) in [(false, false), (false, true), (true, false), (true, true)] {
          for (sent, received) in [(nil, 0), (0, 0), (1, 0), (1, 1)] as [(Int?, Int64)] {
            var snapshot = world.snapshot(seenBy: World.alice)
            let (file, bob) = (SmallWorld.id(2), SmallWorld.id(World.bob))
            snapshot.shareCounts[file] = .init()
            snapshot.shareCounts[file]?.live = live
            snapshot.shareCounts[file]?.all = all
            snapshot.sharesBetween[bob] = between
            if isBlocked { snapshot.blockers = [bob] }
            if isContact { snapshot.contacts = [bob] }
            snapshot.invitationRoom = sent.map { ($0, [bob: received]) }
            var expected: [Rule] = []
            if isBlocked && state != .accepted {
              expected.append(.invitationNotTaken)
            } else if isNew && (live >= 256 || between >= 1000) || state == nil && all >= 1024 {
              expected.append(.tooManyShares)
            }
            if let sent, isNew && !isContact {
              if sent == 0 { expected.append(.tooManyInvitations) }
              if sent > 0 && received == 0 { expected.append(.invitationNotTaken) }
            }
            let found = try broken(snapshot, shares: [grant])
            #expect(found == expected, "\(String(describing: state)) \(live) \(all) \(between)")
            seen.insert(expected)
            count += 1
          }
        }
      }
    }
    #expect(count == 5 * 27 * 4 * 4)
    #expect(seen.count == 8)
  }

  private static var bounds: [(live: Int64, all: Int, between: Int64)] {
    [0, 255, 256].flatMap { live in
      [0, 1023, 1024].flatMap { all in [0, 999, 1000].map { (live, all, $0) } }
    }
  }

  // MARK: Links

  /// Other changes in a batch that makes a link.
  private enum Beside: CaseIterable { case nothing, deletesLink, endsShare, grantsShare }

  @Test func `a new link, in every place, to every target, whatever stands in its way`() throws {
    var (count, seen) = (0, Set<Rule>())
    for state in Self.states {
      for carols in Self.states {
        for isDeleted in [false, true] {
          for hasLink in [false, true] {
            let world = Self.world(state, carols: carols, isDeleted: isDeleted, hasLink: hasLink)
            for parent in [World.bobRoot, 11, 12, 1] {
              for target in [2, 13, World.missing] {
                for beside in Beside.allCases {
                  count += try compare(world, parent, target, beside, &seen)
                }
              }
            }
          }
        }
      }
    }
    #expect(count == 17_400)
    #expect(
      seen == [
        .linkNotOwnTree, .linkTargetNotFound, .linkTargetOwned, .linkExists, .tooManyLinks,
        .tooManyOwners, .linkInSharedFolder,
      ])
  }

  /// Bob writes in Alice's folder 1 and may have a share of her document 2; Carol may have one of his
  /// folder 11, in which his folder 12 lies.
  private static func world(
    _ state: Share.State?, carols: Share.State?, isDeleted: Bool, hasLink: Bool
  ) -> SmallWorld {
    var world = Self.world()
    if isDeleted, var file = world.files[2] {
      file.isDeleted = true
      world.add(file)
    }
    for (id, parent) in [(11, World.bobRoot), (12, 11)] {
      world.add(
        World.File(id: id, owner: World.bob, parent: parent, kind: .folder, name: id))
    }
    world.add(
      World.File(
        id: 13, owner: World.bob, parent: World.bobRoot, kind: .document, name: 13))
    if hasLink { world.add(link(14, of: World.bob, in: World.bobRoot, to: 2)) }
    world.shares[.init(file: 1, account: World.bob)] = .init(mode: .write, state: .accepted)
    if let state {
      world.shares[.init(file: 2, account: World.bob)] = .init(mode: .read, state: state)
    }
    if let carols {
      world.shares[.init(file: 11, account: World.carol)] = .init(mode: .read, state: carols)
    }
    return world
  }

  private func compare(
    _ world: SmallWorld, _ parent: Int, _ target: Int, _ beside: Beside, _ seen: inout Set<Rule>
  ) throws -> Int {
    var after = world
    var link = Self.link(9, of: World.bob, in: parent, to: target)
    link.owner = world.files[parent]?.owner ?? World.bob
    var files: [SmallChange] = []
    var shares: [SmallGrant] = []
    switch beside {
    case .nothing: break
    case .deletesLink:
      guard var old = world.files[14] else { return 0 }
      old.isDeleted = true
      files.append(
        SmallChange(expectation: .at(parent: World.bobRoot, name: 14), file: old))
      after.add(old)
    case .endsShare:
      let carols = SmallWorld.Pair(file: 11, account: World.carol)
      guard let access = world.shares[carols], access.state.isLive else { return 0 }
      shares.append(
        SmallGrant(
          action: .revoke, file: 11, account: World.carol, expectation: access.state))
      after.shares[carols] = nil
    case .grantsShare:
      shares.append(SmallGrant(action: .grant, file: 11, account: World.alice))
      after.shares[.init(file: 11, account: World.alice)] = .init(mode: .read, state: .pending)
    }
    files.append(SmallChange(expectation: .new, file: link))
    var count = 0
    let table = RuleTable(world: world, caller: World.bob)
    for bounds in [(0, 0), (255, 0), (256, 0), (0, 255), (0, 256)] {
      var snapshot = world.snapshot(seenBy: World.bob)
      let bob = SmallWorld.id(World.bob)
      for number in 0..<bounds.0 {
        snapshot.links[bob, default: []].append(
          (id: SmallWorld.id(10_000 + number), target: SmallWorld.id(20_000 + number)))
      }
      snapshot.seenOwners = Set((0..<bounds.1).map { SmallWorld.id(30_000 + $0) })
      let rule = table.rule(
        newLink: link, after: after, .init(links: bounds.0, seenOwners: bounds.1))
      let found = try broken(snapshot, files: files, shares: shares)
      if found != (rule.map { [$0] } ?? []) {
        Issue.record("\(link) \(beside) in \(world): \(found), not \(String(describing: rule))")
      }
      if let rule { seen.insert(rule) }
      count += 1
    }
    return count
  }

  @Test func `a folder with links gets into no folder that others see`() throws {
    var count = 0
    for linkPlace in [nil, 11, 12] as [Int?] {
      for isDeleted in [false, true] {
        for state in Self.states {
          for sharedPlace in [15, 16] {
            for endsShare in state?.isLive == true ? [false, true] : [false] {
              var world = SmallWorld()
              let folders = [
                (11, World.bobRoot), (12, 11), (15, World.bobRoot), (16, 15),
              ]
              for (id, parent) in folders {
                world.add(
                  World.File(id: id, owner: World.bob, parent: parent, kind: .folder, name: id))
              }
              if let linkPlace {
                var link = Self.link(14, of: World.bob, in: linkPlace, to: World.aliceRoot)
                link.isDeleted = isDeleted
                world.add(link)
              }
              if let state {
                world.shares[.init(file: sharedPlace, account: World.carol)] = .init(
                  mode: .read, state: state)
              }
              var moved = World.File(
                id: 11, owner: World.bob, parent: 16, kind: .folder, name: 11)
              moved.parent = 16
              let change = SmallChange(
                expectation: .at(parent: World.bobRoot, name: 11), file: moved)
              let shares =
                endsShare
                ? [
                  SmallGrant(
                    action: .revoke, file: sharedPlace, account: World.carol, expectation: state)
                ] : []
              let found = try broken(
                world.snapshot(seenBy: World.bob), files: [change], shares: shares)
              let hasLink = linkPlace != nil && !isDeleted
              let isSeen = state?.isLive == true && !endsShare
              let expected: [Rule] = hasLink && isSeen ? [.linkInSharedFolder] : []
              #expect(found == expected)
              count += 1
            }
          }
        }
      }
    }
    #expect(count == 3 * 2 * (5 + 2) * 2)
  }
}
