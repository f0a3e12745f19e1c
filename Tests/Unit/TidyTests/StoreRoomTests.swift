import Testing

/// Everything about one store is in its room. The core knows stores through a protocol and one list.
@Suite struct StoreRoomTests {
  private static let sources = SourceFile.all(under: "Sources")

  /// The rooms that hold a file `<Room>/<Room>Store.swift`.
  private static let stores: Set<String> = Set(
    sources.compactMap { file in
      let folders = file.path.split(separator: "/").map(String.init)
      guard folders.count == 4, folders[1] == "Billing", folders[3] == folders[2] + "Store.swift"
      else { return nil }
      return folders[2]
    })

  private static let list = "Sources/Billing/KnownStores/KnownStores.swift"

  /// Code that must work for any future store.
  private static let core = [
    "Sources/Billing/Billing/", "Sources/Billing/Jobs/", "Sources/Billing/KnownStores/",
    "Sources/Billing/Ledger/", "Sources/Billing/Answers/", "Sources/Billing/Repair/",
    "Sources/ProviderAPI/", "Sources/Billing/Stores/",
    "Sources/Billing/Subscriptions/", "Sources/Configuration/", "Sources/Endpoints/",
    "Sources/Tiers/",
  ]

  @Test func `the core names no store but in its one list`() throws {
    #expect(Self.stores.isSuperset(of: ["Apple", "Google", "Stripe"]))
    let names = Self.stores.map { $0.lowercased() } + ["app store", "google play"]
    for file in Self.sources where file.path != Self.list {
      guard Self.core.contains(where: file.path.hasPrefix) else { continue }
      for line in file.text.split(separator: "\n") {
        let lower = line.lowercased()
        for name in names where lower.contains(name) {
          Issue.record("\(file.path) names \(name): \(line)")
        }
      }
    }
  }

  @Test func `every store stands in the list`() throws {
    let list = try #require(SourceFile(Self.list)).text
    for store in Self.stores { #expect(list.contains("\(store)Store.self"), "\(store)") }
  }

  @Test func `a store's room uses no other store's, nor the ledger's`() {
    for file in Self.sources {
      let folders = file.path.split(separator: "/").map(String.init)
      guard folders.count == 4, Self.stores.contains(folders[2]) else { continue }
      let others = Self.stores.subtracting([folders[2]]).union(["Billing", "KnownStores", "Ledger"])
      #expect(others.isDisjoint(with: file.imports), "\(file.path)")
    }
  }
}

/// A protocol of coffer-sync is known by one list.
@Suite struct ProtocolListTests {
  @Test func `every protocol stands in the list`() throws {
    let list = try #require(SourceFile("Sources/KnownProtocols/KnownProtocols.swift")).text
    let rooms = SourceFile.all(under: "Sources").flatMap(\.codeLines).compactMap { line in
      line.hasSuffix(": ProtocolRoom {")
        ? line.split(whereSeparator: { " :".contains($0) }).dropLast(2).last : nil
    }
    #expect(!rooms.isEmpty)
    for room in rooms { #expect(list.contains("\(room).self"), "\(room)") }
  }
}
