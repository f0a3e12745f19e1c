/// Finds the route of a path; literal segments win over captured ones.
package struct Router: Sendable {
  package enum Match {
    case route(Route, [Substring])
    case otherMethods([String])
    case unknown
  }

  private struct Entry: Sendable {
    let route: Route
    /// Nil if the segment is captured.
    let segments: [Substring?]
    var literalCount: Int { segments.count { $0 != nil } }

    func captures(_ path: [Substring]) -> [Substring]? {
      var captures: [Substring] = []
      for (segment, literal) in zip(path, segments) {
        if let literal {
          guard segment == literal else { return nil }
        } else {
          guard !segment.isEmpty else { return nil }
          captures.append(segment)
        }
      }
      return captures
    }
  }

  private var entries: [Int: [Entry]] = [:]
  private let elsewhere: Route?
  /// The literal beginnings of patterns that go on with `{secret}`.
  private let secretPrefixes: [String]

  package init(_ routes: [Route]) {
    secretPrefixes = Set(routes.map(\.pattern)).compactMap { pattern in
      pattern.firstIndex(of: "{").flatMap { place in
        pattern[place...].hasPrefix("{secret}") ? String(pattern[..<place]) : nil
      }
    }
    elsewhere = routes.first { $0.pattern == Route.elsewhere }
    for route in routes where route.pattern != Route.elsewhere {
      let segments = Self.segments(route.pattern[...]).map { segment in
        segment.hasPrefix("{") ? nil : segment
      }
      entries[segments.count, default: []].append(Entry(route: route, segments: segments))
    }
    for count in entries.keys { entries[count]!.sort { $0.literalCount > $1.literalCount } }
  }

  package func match(_ method: String, _ path: Substring) -> Match {
    let segments = Self.segments(path)
    let wanted = method == "HEAD" ? ["HEAD", "GET"] : [method]
    var others: [String] = []
    for entry in entries[segments.count] ?? [] {
      guard let captures = entry.captures(segments) else { continue }
      if wanted.contains(entry.route.method) { return .route(entry.route, captures) }
      others.append(entry.route.method)
    }
    guard others.isEmpty else { return .otherMethods(others) }
    guard let elsewhere, wanted.contains(elsewhere.method) else { return .unknown }
    return .route(elsewhere, [])
  }

  /// The path as a log may show it: what follows the beginning of a path with a secret is left out.
  func shown(_ path: Substring) -> String {
    guard let prefix = secretPrefixes.first(where: path.hasPrefix) else { return String(path) }
    return prefix + "{secret}"
  }

  /// The parts between the slashes; the path's first character is a slash.
  private static func segments(_ path: Substring) -> [Substring] {
    path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .map { Substring($0) }
  }
}
