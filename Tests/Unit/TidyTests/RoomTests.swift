import Testing

/// Rooms are folders of one target. The compiler lets them use each other freely. A reader wants to go from
/// what every room needs to the room that needs everything, and never in a circle.
@Suite struct RoomTests {
  /// Files by their room, such as `Sources/Sync/Trees`.
  private static let rooms = Dictionary(grouping: SourceFile.all(under: "Sources")) { file in
    String(file.path[..<(file.path.lastIndex(of: "/") ?? file.path.startIndex)])
  }

  @Test func `no rooms use each other, directly or by way of others`() {
    #expect(Self.circle(of: Self.arrows()) == [])
  }

  @Test func `a circle is found with what leads into it, and nothing where there is none`() {
    let arrows = ["a": ["b"], "b": ["c"], "c": ["b", "d"], "d": []] as [String: Set<String>]
    #expect(Self.circle(of: arrows) == ["a", "b", "c"])
    #expect(Self.circle(of: ["a": ["b", "c"], "b": ["c"], "c": []]) == [])
  }

  /// The rooms that each room uses: it names a type that only the other room declares.
  private static func arrows() -> [String: Set<String>] {
    var homes: [Substring: Set<String>] = [:]
    for (room, files) in rooms {
      for name in files.flatMap(\.declaredTypes) { homes[name, default: []].insert(room) }
    }
    var arrows: [String: Set<String>] = [:]
    for (room, files) in rooms {
      let used = files.flatMap(\.typeNames).compactMap { name -> String? in
        guard let home = homes[name], home.count == 1 else { return nil }
        return home.first
      }
      // Targets depend only on those above them, so circles are within one target.
      arrows[room] = Set(used.filter { $0 != room && target($0) == target(room) })
    }
    return arrows
  }

  private static func target(_ room: String) -> Substring {
    let folders = room.split(separator: "/")
    return folders.count > 1 ? folders[1] : ""
  }

  /// The rooms that remain after repeatedly removing rooms that use none of the rest.
  private static func circle(of arrows: [String: Set<String>]) -> Set<String> {
    var left = arrows
    while let free = left.first(where: { $0.value.isDisjoint(with: left.keys) }) {
      left[free.key] = nil
    }
    return Set(left.keys)
  }
}

extension SourceFile {
  /// Types declared at the left edge, which every file can use.
  fileprivate var declaredTypes: Set<Substring> {
    let keywords: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias"]
    let lines = codeLines.filter { !$0.hasPrefix(" ") && !$0.hasPrefix("private ") }
    return Set(
      lines.compactMap { line in
        let words = line.split { !$0.isLetter && !$0.isNumber }
        guard let index = words.prefix(4).firstIndex(where: keywords.contains),
          words.indices.contains(index + 1)
        else { return nil }
        return words[index + 1]
      })
  }

  /// Capitalised words of the code, outside of string literals.
  fileprivate var typeNames: Set<Substring> {
    var names: Set<Substring> = []
    var isText = false
    for line in codeLines {
      let quotes = line.ranges(of: "\"\"\"").count
      defer { if quotes == 1 { isText.toggle() } }
      guard !isText else { continue }
      for (index, part) in line.split(separator: "\"", omittingEmptySubsequences: false)
        .enumerated()
      where index.isMultiple(of: 2) {
        for word in part.split(whereSeparator: { !$0.isLetter && !$0.isNumber })
        where word.first?.isUppercase == true { names.insert(word) }
      }
    }
    return names
  }
}
