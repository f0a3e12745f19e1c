import JSON
import SeededRandom

/// The place of a value within another.
struct JSONPath: Sendable, CustomStringConvertible {
  enum Step: Sendable {
    case member(String)
    case element(Int)
  }

  var steps: [Step] = []

  /// Reads `$.files[0].file`, the form in which refusals name places.
  init(_ text: String) {
    for part in text.split(separator: ".").dropFirst() {
      let pieces = part.split(separator: "[")
      steps.append(.member(String(pieces[0])))
      for index in pieces.dropFirst() { steps.append(.element(Int(index.dropLast()) ?? 0)) }
    }
  }

  var description: String {
    steps.reduce("$") { text, step in
      switch step {
      case .member(let name): text + "." + name
      case .element(let index): text + "[\(index)]"
      }
    }
  }
}

extension JSONValue {
  /// The JSON with one value replaced or added; left out if `value` is nil.
  func setting(_ path: String, to value: JSONValue?) -> JSONValue {
    setting(JSONPath(path).steps[...], to: value) ?? .null
  }

  private func setting(_ steps: ArraySlice<JSONPath.Step>, to value: JSONValue?) -> JSONValue? {
    guard let step = steps.first else { return value }
    switch (step, self) {
    case (.member(let name), .object(var members)):
      let index = members.firstIndex { $0.name == name }
      let inner = index.map { members[$0].value } ?? .null
      let edited = inner.setting(steps.dropFirst(), to: value)
      if let index { members.remove(at: index) }
      if let edited { members.insert(.init(name, edited), at: index ?? members.count) }
      return .object(members)
    case (.element(let index), .array(var elements)):
      if let edited = elements[index].setting(steps.dropFirst(), to: value) {
        elements[index] = edited
      } else {
        elements.remove(at: index)
      }
      return .array(elements)
    default: return self
    }
  }

  /// All values that are neither objects nor arrays, with their places.
  var leaves: [(path: String, value: JSONValue)] { leaves(at: "$") }

  private func leaves(at path: String) -> [(path: String, value: JSONValue)] {
    switch self {
    case .array(let elements):
      elements.enumerated().flatMap { $0.element.leaves(at: "\(path)[\($0.offset)]") }
    case .object(let members): members.flatMap { $0.value.leaves(at: "\(path).\($0.name)") }
    default: [(path, self)]
    }
  }

  /// The same value with the members of all its objects in another order.
  func shuffled(using random: inout SeededGenerator) -> JSONValue {
    switch self {
    case .array(let elements): .array(elements.map { $0.shuffled(using: &random) })
    case .object(let members):
      .object(
        members.map { .init($0.name, $0.value.shuffled(using: &random)) }
          .shuffled(using: &random))
    default: self
    }
  }
}
