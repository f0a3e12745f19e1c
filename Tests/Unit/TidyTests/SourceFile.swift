import TestFiles

/// A file of the repository.
struct SourceFile {
  let path: String
  let text: String

  init?(_ path: String) {
    guard let text = Files.text("\(Files.repository)/\(path)") else { return nil }
    self.path = path
    self.text = text
  }

  /// All Swift files of targets.
  static let everywhere = ["Sources", "Benchmarks", "Tests"].flatMap(all(under:))

  /// Every Swift file below a folder.
  static func all(under folder: String) -> [SourceFile] {
    Files.paths(under: "\(Files.repository)/\(folder)").filter { $0.hasSuffix(".swift") }
      .compactMap { SourceFile("\(folder)/\($0)") }
  }

  /// The modules that the file imports, with any access level.
  var imports: [String] {
    text.split(separator: "\n").compactMap { line in
      if line.hasPrefix(" ") { return nil }  // an import stands at the left edge; a text may not
      let words = line.split(separator: " ")
      guard let index = words.firstIndex(of: "import"), index <= 1, words.count > index + 1 else {
        return nil
      }
      return String(words[index + 1])
    }
  }

  /// The lines of the code, without comments.
  var codeLines: [Substring] {
    text.split(separator: "\n").filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }
  }

  /// The words of the code, without comments.
  var words: Set<Substring> {
    var words: Set<Substring> = []
    for line in codeLines { words.formUnion(line.split { !$0.isLetter }) }
    return words
  }
}

/// The targets that each target of Package.swift may import.
enum PackageTable {
  /// A target of the manifest: shipped, a test, or a benchmark.
  struct Target {
    let name: String
    let wing: Wing
    let dependencies: Set<String>
  }

  enum Wing: String { case sources, tests, benchmarks }

  /// All targets in the order of the manifest, of every kind.
  static func order(_ manifest: String) -> [Target] {
    // Only the list, which follows the functions that make targets.
    let list = manifest.parts(after: "  targets: [\n").first?.components(before: "\n  ]\n)") ?? ""
    return list.split(separator: "\n", omittingEmptySubsequences: true)
      .reduce(into: [String]()) { targets, line in
        let isStart = line.hasPrefix("    ") && !line.hasPrefix("     ") && line.contains("(")
        if isStart { targets.append("") }
        if !targets.isEmpty { targets[targets.count - 1] += line }
      }
      .compactMap { target in
        let call = ["path:", "exclude:", "embedding:"].reduce(target) { $0.components(before: $1) }
        let quoted = call.parts(after: "\"").enumerated().filter { $0.offset.isMultiple(of: 2) }
          .map { $0.element.components(before: "\"") }
        guard let first = quoted.first, let name = first.split(separator: "/").last else {
          return nil
        }
        let isSystem = target.hasPrefix("    system(")
        return Target(
          name: String(name), wing: wing(of: target, named: first),
          dependencies: isSystem ? [] : Set(quoted.dropFirst()))
      }
  }

  /// Modules and targets that are spelled out are part of what ships. A program's path shows where it
  /// belongs.
  private static func wing(of target: String, named path: String) -> Wing {
    let kind = target.drop { $0 == " " }.prefix { $0 != "(" }
    switch kind {
    case "support", "tests": return .tests
    case "program" where path.hasPrefix("Tests/"): return .tests
    case "program" where path.hasPrefix("Benchmarks/"): return .benchmarks
    default: return .sources
    }
  }

  static func dependencies(_ manifest: String) -> [String: Set<String>] {
    Dictionary(uniqueKeysWithValues: order(manifest).map { ($0.name, $0.dependencies) })
  }
}

extension String {
  /// The text before the first `mark`; all of it if there is none.
  func components(before mark: String) -> String {
    var rest = self[...]
    while !rest.isEmpty {
      if rest.hasPrefix(mark) { return String(self[..<rest.startIndex]) }
      rest.removeFirst()
    }
    return self
  }

  /// The pieces that follow each `mark`, each up to the next one.
  func parts(after mark: String) -> [String] {
    var pieces: [String] = []
    var rest = self[...]
    var start: Index?
    while !rest.isEmpty {
      if rest.hasPrefix(mark) {
        if let start { pieces.append(String(self[start..<rest.startIndex])) }
        rest = rest.dropFirst(mark.count)
        start = rest.startIndex
      } else {
        rest.removeFirst()
      }
    }
    if let start { pieces.append(String(self[start...])) }
    return pieces
  }
}
