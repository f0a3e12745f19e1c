import Accounts
import Base
import Sync
import Testing

/// Checks the rules of batches over every small tree, without a database, against tables that are simple
/// enough to trust. Each test states the number of cases.
@Suite struct BatchRulesTests {
  typealias World = SmallWorld

  // MARK: Trees

  /// Every tree of `count` files below Alice's root. Each file is a folder or a document, live or deleted, in
  /// the root or in a folder before it.
  private static func trees(_ count: Int) -> [SmallWorld] {
    guard count > 0 else { return [SmallWorld()] }
    return trees(count - 1).flatMap { tree in
      let folders = (1..<count).filter { tree.files[$0]?.kind == .folder }
      return ([World.aliceRoot] + folders).flatMap { parent in
        [FileRecord.Kind.folder, .document].flatMap { kind in
          [false, true].map { isDeleted in
            var tree = tree
            tree.add(
              World.File(
                id: count, owner: World.alice, parent: parent, kind: kind, name: count,
                isDeleted: isDeleted))
            return tree
          }
        }
      }
    }
  }

  /// Alice herself, and Bob with no share or one of any file, in every mode and state.
  private static func callers(_ tree: SmallWorld) -> [(caller: Int, world: SmallWorld)] {
    var callers = [(World.alice, tree), (World.bob, tree)]
    for file in tree.files.keys.sorted() where file < World.aliceRoot {
      for mode in Share.Mode.allCases {
        for state in Share.State.allCases {
          var world = tree
          world.shares[.init(file: file, account: World.bob)] = .init(mode: mode, state: state)
          callers.append((World.bob, world))
        }
      }
    }
    return callers
  }

  /// Every change of one file to every place, name and kind, under every expectation.
  private static func changes(_ world: SmallWorld) -> [SmallChange] {
    let own = world.files.values.filter { $0.id < World.aliceRoot }.sorted { $0.id < $1.id }
    let places = own.map(\.id) + [World.aliceRoot, World.bobRoot, World.missing]
    let new = 9
    var changes: [SmallChange] = []
    for parent in places + [new] {
      for name in own.map(\.name) + [new] {
        let file = World.File(
          id: new, owner: World.alice, parent: parent, kind: .folder, name: name)
        changes.append(SmallChange(expectation: .new, file: file))
        for current in own {
          var file = current
          (file.parent, file.name) = (parent, name)
          let right = SmallChange.Expectation.at(parent: current.parent, name: current.name)
          changes.append(SmallChange(expectation: right, file: file))
          file.isDeleted = true
          changes.append(SmallChange(expectation: right, file: file))
        }
      }
    }
    for current in own {
      let right = SmallChange.Expectation.at(parent: current.parent, name: current.name)
      var (kind, owner, target) = (current, current, current)
      kind.kind = current.kind == .folder ? .document : .folder
      owner.owner = World.bob
      target.target = World.bobRoot
      changes += [kind, owner, target].map { SmallChange(expectation: right, file: $0) }
      changes += [
        SmallChange(expectation: .new, file: current),
        SmallChange(expectation: .at(parent: World.missing, name: current.name), file: current),
        SmallChange(expectation: .at(parent: current.parent, name: new), file: current),
        SmallChange(expectation: right, file: current, isSigned: false),
      ]
    }
    var (root, absent, buried) = (own[0], own[0], own[0])
    (root.id, root.parent, root.kind) = (World.aliceRoot, World.aliceRoot, .folder)
    absent.id = World.missing
    (buried.id, buried.isDeleted) = (new, true)
    changes += [
      SmallChange(expectation: .at(parent: World.aliceRoot, name: 0), file: root),
      SmallChange(expectation: .at(parent: World.aliceRoot, name: 1), file: absent),
      SmallChange(expectation: .new, file: buried),
      SmallChange(expectation: .new, file: absent, isSigned: false),
    ]
    return changes
  }

  // MARK: Single changes

  /// Judges every change by the rules and by the table. Returns the number of changes.
  private func compare(
    _ world: SmallWorld, caller: Int, _ changes: [SmallChange], _ seen: inout Set<Rule>
  ) throws -> Int {
    let table = RuleTable(world: world, caller: caller)
    let snapshot = world.snapshot(seenBy: caller)
    for change in changes {
      let rule = table.rule(change)
      let found = try broken(snapshot, files: [change])
      if found != (rule.map { [$0] } ?? []) {
        Issue.record("\(caller): \(change) in \(world): \(found), not \(String(describing: rule))")
      }
      if let rule { seen.insert(rule) }
    }
    return changes.count
  }

  @Test func `a change of one file, in every tree of two, by whoever sees what of it`() throws {
    var (count, seen) = (0, Set<Rule>())
    for tree in Self.trees(1) + Self.trees(2) {
      let changes = Self.changes(tree)
      for (caller, world) in Self.callers(tree) {
        count += try compare(world, caller: caller, changes, &seen)
      }
    }
    #expect(count == 48_296)
    #expect(seen == Self.rulesOfFiles)
  }

  @Test func `a change of one file, in every tree of three, by its owner`() throws {
    var (count, seen) = (0, Set<Rule>())
    for tree in Self.trees(3) {
      count += try compare(tree, caller: World.alice, Self.changes(tree), &seen)
    }
    #expect(count == 45_968)
    #expect(seen == Self.rulesOfFiles.subtracting([.notPermitted, .idTaken, .ownerDiffers]))
  }

  private static let rulesOfFiles: Set<Rule> = [
    .stale, .idTaken, .oneRoot, .fileNotFound, .rootImmutable, .fileDeleted, .typeImmutable,
    .ownerImmutable, .targetImmutable, .notPermitted, .deletionChangesRecord, .signatureInvalid,
    .parentNotFound, .parentNotFolder, .ownerDiffers, .cycle, .parentDeleted, .nameTaken,
  ]

  @Test func `an id that a forgotten file had is not taken again`() throws {
    var world = Self.trees(1)[0]
    world.remembered = [9]
    var seen: Set<Rule> = []
    _ = try compare(world, caller: World.alice, Self.changes(world), &seen)
    #expect(seen.contains(.idTaken))
  }

  // MARK: Two changes

  /// Creates, moves, renames and deletes existing files, and files that another change creates.
  private static func moves(_ world: SmallWorld) -> [SmallChange] {
    let own = world.files.values.filter { $0.id < World.aliceRoot }.sorted { $0.id < $1.id }
    let places = own.map(\.id) + [World.aliceRoot, 8, 9]
    var changes: [SmallChange] = []
    for parent in places {
      for name in own.map(\.name) + [9] {
        for id in [8, 9] {
          for kind in [FileRecord.Kind.folder, .document] {
            let file = World.File(
              id: id, owner: World.alice, parent: parent, kind: kind, name: name)
            changes.append(SmallChange(expectation: .new, file: file))
          }
        }
        for current in own {
          var file = current
          (file.parent, file.name, file.isDeleted) = (parent, name, false)
          changes.append(
            SmallChange(
              expectation: .at(parent: current.parent, name: current.name), file: file))
        }
      }
    }
    for current in own {
      var file = current
      file.isDeleted = true
      changes.append(
        SmallChange(expectation: .at(parent: current.parent, name: current.name), file: file))
    }
    return changes
  }

  @Test func `two changes of every tree of two files are taken if the world they leave is legal`()
    throws
  {
    var (count, takenCount) = (0, 0)
    for tree in Self.trees(2) {
      let table = RuleTable(world: tree, caller: World.alice)
      let snapshot = tree.snapshot(seenBy: World.alice)
      let changes = Self.moves(tree)
      for (index, first) in changes.enumerated() {
        for second in changes[index...] {
          let found = try broken(snapshot, files: [first, second])
          let isLegal = table.isLegal([first, second])
          if found.isEmpty != isLegal {
            Issue.record("\(first) and \(second) in \(tree): \(found)")
          }
          count += 1
          if isLegal { takenCount += 1 }
        }
      }
    }
    #expect(count == 102_672)
    #expect(takenCount == 4461)
  }

  @Test func `what gets into a circle that others of the batch make is told so`() throws {
    var world = SmallWorld()
    for id in [1, 2] {
      world.add(
        World.File(
          id: id, owner: World.alice, parent: World.aliceRoot, kind: .folder, name: id))
    }
    let moves = [(1, 2), (2, 1)].map { id, parent in
      SmallChange(
        expectation: .at(parent: World.aliceRoot, name: id),
        file: World.File(id: id, owner: World.alice, parent: parent, kind: .folder, name: id))
    }
    let new = SmallChange(
      expectation: .new,
      file: World.File(id: 9, owner: World.alice, parent: 1, kind: .document, name: 9))
    let found = try broken(world.snapshot(seenBy: World.alice), files: moves + [new])
    #expect(found == [.cycle, .cycle, .cycle])
  }

  // MARK: Depth

  @Test func `a folder goes where its levels have room, counted where its height is in doubt`()
    throws
  {
    var count = 0
    for depth in [0, 1, 2, 63, 64, 126, 127, 128] {
      var world = SmallWorld()
      for level in 0..<depth {
        let parent = level == 0 ? World.aliceRoot : 1000 + level - 1
        world.add(
          World.File(
            id: 1000 + level, owner: World.alice, parent: parent, kind: .folder, name: 7))
      }
      let moved = World.File(
        id: 1, owner: World.alice, parent: World.aliceRoot, kind: .folder, name: 1)
      world.add(moved)
      var file = moved
      file.parent = depth == 0 ? World.aliceRoot : 1000 + depth - 1
      let right = SmallChange.Expectation.at(parent: World.aliceRoot, name: 1)
      for height in [0, 1, 2, 64, 65, 127, 128] {
        for counted in [nil, 0, 1, 64, 127] as [Int64?] {
          var snapshot = world.snapshot(seenBy: World.alice, heights: [1: Int64(height)])
          snapshot.countedHeights[SmallWorld.id(1)] = .some(counted)
          let levels = { (beneath: Int64) in Int64(depth) + 1 + beneath }
          let fits = ([Int64(height)] + (counted.map { [$0] } ?? [])).contains { levels($0) <= 128 }
          let found = try broken(
            snapshot, files: [SmallChange(expectation: right, file: file)])
          #expect(found == (fits ? [] : [.tooDeep]), "\(depth), \(height)")
          count += 1
        }
      }
    }
    #expect(count == 8 * 7 * 5)
  }

  @Test func `folders above get the height that was counted, not the one in doubt`() throws {
    var world = SmallWorld()
    for id in [1, 2] {
      world.add(
        World.File(id: id, owner: World.alice, parent: World.aliceRoot, kind: .folder, name: id))
    }
    var snapshot = world.snapshot(seenBy: World.alice, heights: [1: 127])
    snapshot.countedHeights[SmallWorld.id(1)] = .some(3)
    let move = SmallChange(
      expectation: .at(parent: World.aliceRoot, name: 1),
      file: World.File(id: 1, owner: World.alice, parent: 2, kind: .folder, name: 1))
    let plan = try BatchRules.judge(
      Batch(author: [], files: [move.change], shares: []), snapshot)
    #expect(plan.raisedHeights == [SmallWorld.id(2): 4, SmallWorld.id(World.aliceRoot): 5])
  }
}
