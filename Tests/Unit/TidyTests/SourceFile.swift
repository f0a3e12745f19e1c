import Glibc

/// A file of the repository, found from this file's own place.
struct SourceFile {
  let path: String
  let text: String

  private static let root = #filePath.components(before: "/Tests/Unit/TidyTests/")

  init?(_ path: String) {
    guard let file = unsafe fopen(Self.root + "/" + path, "r") else { return nil }
    defer { unsafe fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = unsafe fread(&buffer, 1, buffer.count, file)
      if count == 0 { break }
      bytes += buffer[..<count]
    }
    self.path = path
    text = String(decoding: bytes, as: UTF8.self)
  }

  /// All Swift files of targets.
  static let everywhere = ["Sources", "Benchmarks", "Tests"].flatMap(all(under:))

  /// Every Swift file below a folder.
  static func all(under folder: String) -> [SourceFile] {
    guard let directory = unsafe opendir(root + "/" + folder) else { return [] }
    defer { unsafe closedir(directory) }
    var files: [SourceFile] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasPrefix(".") { continue }
      let path = folder + "/" + name
      if name.hasSuffix(".swift") {
        if let file = SourceFile(path) { files.append(file) }
      } else if !name.contains(".") {
        files += all(under: path)
      }
    }
    return files
  }

  /// The modules the file imports, whatever their access.
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

  /// The lines of the code, comments left out.
  var codeLines: [Substring] {
    text.split(separator: "\n").filter { !$0.drop(while: { $0 == " " }).hasPrefix("//") }
  }

  /// The words of the code, comments left out.
  var words: Set<Substring> {
    var words: Set<Substring> = []
    for line in codeLines { words.formUnion(line.split { !$0.isLetter }) }
    return words
  }
}

/// Which targets each target of Package.swift may import.
enum PackageTable {
  /// Every target in the order of the manifest, with what it depends on.
  static func order(_ manifest: String) -> [(name: String, dependencies: Set<String>)] {
    // The list alone: above it stand the functions that make targets.
    let list = manifest.parts(after: "  targets: [\n").first?.components(before: "\n  ]\n)") ?? ""
    return list.split(separator: "\n", omittingEmptySubsequences: true)
      .reduce(into: [String]()) { targets, line in
        let isStart = line.hasPrefix("    ") && !line.hasPrefix("     ") && line.contains("(")
        if isStart { targets.append("") }
        if !targets.isEmpty { targets[targets.count - 1] += line }
      }
      .compactMap { target in
        let call = target.components(before: "path:").components(before: "exclude:")
        let quoted = call.parts(after: "\"").enumerated().filter { $0.offset.isMultiple(of: 2) }
          .map { $0.element.components(before: "\"") }
        guard let name = quoted.first?.split(separator: "/").last else { return nil }
        let isSystem = target.hasPrefix("    system(")
        return (String(name), isSystem ? [] : Set(quoted.dropFirst()))
      }
  }

  static func dependencies(_ manifest: String) -> [String: Set<String>] {
    var table: [String: Set<String>] = [:]
    for kind in ["module(", "program(", "support(", "tests("] {
      for call in manifest.parts(after: "\n    " + kind) {
        let literals = call.components(before: "),\n").parts(after: "\"")
        // Every second piece lies inside quotes: the first is the name, the rest are dependencies.
        let quoted = literals.enumerated().filter { $0.offset.isMultiple(of: 2) }.map {
          $0.element.components(before: "\"")
        }
        guard let path = quoted.first, let name = path.split(separator: "/").last else { continue }
        table[String(name)] = Set(quoted.dropFirst())
      }
    }
    return table
  }
}

extension String {
  /// What stands before the first `mark`; everything without one.
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
