/// The settings as given, before they are parsed: names checked, values still text.
package struct Settings: Sendable {
  package struct Value: Sendable {
    package let text: String
    package let origin: Origin
  }

  /// Where a value was written, for messages.
  package enum Origin: Sendable, Equatable {
    case environment
    case option
    case file(path: String, line: Int)

    package var text: String {
      switch self {
      case .environment: "environment"
      case .option: "option"
      case .file(let path, let line): "\(path):\(line)"
      }
    }
  }

  let table: SettingsTable
  /// The values by the settings' names.
  package private(set) var values: [String: Value] = [:]
  /// The problems of names and of the file; every configuration made from this reports them.
  private(set) var problems: [ConfigurationError.Problem] = []

  /// `configPath` is the value of `--config`; it wins over `COFFER_CONFIG`.
  package init(_ table: SettingsTable, environment: [String: String], configPath: String? = nil) {
    self.table = table
    let config = SharedSettings.config.name
    let given = accepted(environment)
    let path = configPath ?? given[config]
    let isOpenToOthers =
      path.map { readFile(at: $0, named: configPath == nil ? .environment : .option) } ?? false
    let secrets = values.filter { name, value in
      table.setting(named: name)?.isSecret(value.text) ?? true
    }.keys
    for (name, text) in given { values[name] = Value(text: text, origin: .environment) }
    if let configPath { values[config] = Value(text: configPath, origin: .option) }
    if let path, isOpenToOthers, !secrets.isEmpty, !isTest {
      let names = secrets.sorted().joined(separator: ", ")
      problems.append(
        .init(
          .invalid,
          "configuration file \(path) holds secrets (\(names)) and is open to others than its owner: "
            + "chmod 600 \(path)"))
    }
  }

  /// The files that hold secrets: the configuration file, if it contains one, and those that settings name.
  package var secretFiles: [String] {
    let own = values.contains { name, value in
      guard case .file = value.origin else { return false }
      return table.setting(named: name)?.isSecret(value.text) ?? true
    }
    return (own ? values[SharedSettings.config.name].map { [$0.text] } ?? [] : [])
      + table.rows.filter(\.namesSecret).compactMap { values[$0.name]?.text }
  }

  /// Whether settings for tests alone may be used.
  var isTest: Bool { values[SharedSettings.mode.name]?.text == Mode.test.rawValue }

  private mutating func accepted(_ environment: [String: String]) -> [String: String] {
    var given: [String: String] = [:]
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix(SettingsTable.namePrefix) {
      guard table.setting(named: name) != nil else {
        problems.append(.init(.invalid, unknown(name, in: "environment")))
        continue
      }
      guard !value.isEmpty else {
        problems.append(.init(.invalid, "\(name) (environment): is empty; unset it instead"))
        continue
      }
      given[name] = value
    }
    return given
  }

  /// Reads the file. Returns whether others than its owner may read or write it.
  private mutating func readFile(at path: String, named origin: Origin) -> Bool {
    if let refusal = Surroundings.refusal(of: path) {
      let config = SharedSettings.config.name
      problems.append(.init(.invalid, "\(config) (\(origin.text)): \(quoted(path)) \(refusal)"))
      return false
    }
    let (bytes, isOpenToOthers): ([UInt8], Bool)
    do throws(TextFile.Failure) {
      (bytes, isOpenToOthers) = try TextFile.read(path)
    } catch {
      problems.append(.init(.invalid, "configuration file \(quoted(path)) \(error.text)"))
      return false
    }
    let lines = SettingsFile.lines(of: bytes)
    for line in lines {
      let place = "\(path):\(line.number)"
      switch line.content {
      case .malformed(let reason):
        problems.append(.init(.invalid, "\(place): \(reason)"))
      case .setting(let name, let text):
        guard table.setting(named: name) != nil, name != SharedSettings.config.name else {
          problems.append(.init(.invalid, unknown(name, in: place)))
          continue
        }
        guard values[name] == nil else {
          problems.append(.init(.invalid, "\(name) (\(place)): is set twice in the file"))
          continue
        }
        guard !text.isEmpty else {
          problems.append(.init(.invalid, "\(name) (\(place)): is empty; remove it instead"))
          continue
        }
        values[name] = Value(text: text, origin: .file(path: path, line: line.number))
      }
    }
    return isOpenToOthers
  }

  private func unknown(_ name: String, in place: String) -> String {
    let prefix = SettingsTable.namePrefix
    let complaint = "\(Self.shown(name)) (\(place)): no such setting"
    guard table.setting(named: name) == nil, Self.shown(name) == name,
      let near = Suggestion.nearest(
        to: String(name.dropFirst(prefix.count)),
        among: table.rows.map { String($0.name.dropFirst(prefix.count)) })
    else { return complaint }
    return "\(complaint); did you mean \(prefix)\(near)?"
  }

  /// A name that may be printed: a secret pasted in place of a name may not.
  private static func shown(_ name: String) -> String {
    let plain =
      name.hasPrefix(SettingsTable.namePrefix) && name.utf8.count <= 64
      && name.utf8.allSatisfy {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "_")
          || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
      }
    return plain ? name : "a name that is not shown"
  }
}
