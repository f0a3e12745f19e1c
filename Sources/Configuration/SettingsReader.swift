internal import Base
internal import Crypto
internal import HTTPClient
internal import HTTPServer
internal import Storage
internal import Tiers

/// Turns settings into typed values and gathers what is wrong with them.
///
/// Each function gives nil where its setting is absent or refused; where `problems` stays empty, nil
/// means an absence that is allowed.
struct SettingsReader {
  private let settings: Settings
  private let program: Program
  private(set) var problems: [ConfigurationError.Problem]

  init(_ settings: Settings, for program: Program) {
    self.settings = settings
    self.program = program
    problems = settings.problems
  }

  func has(_ key: Key) -> Bool { settings.values[key] != nil }

  /// The text of a setting; reports one that is missing and has no default.
  mutating func text(_ key: Key) -> String? {
    if let value = settings.values[key] { return value.text }
    let documentation = key.documentation
    switch documentation.fallback {
    case .value(let value): return value
    case .meaning: return nil
    case .requiredBy(let programs) where !programs.contains(program): return nil
    case .required, .requiredBy:
      problems.append(
        .init(.missing, "\(key.rawValue): is required, e.g. \(documentation.example)"))
      return nil
    }
  }

  /// Reports a rule that the setting's value breaks; `rule` is a sentence without its subject.
  mutating func refuse(_ key: Key, _ rule: String) {
    let origin = settings.values[key].map { " (\($0.origin.text))" } ?? ""
    problems.append(.init(.invalid, "\(key.rawValue)\(origin): \(rule)"))
  }

  /// The parts of a comma list, spaces around them taken off; an empty part is refused.
  mutating func list(_ key: Key) -> [String]? {
    guard let text = text(key) else { return nil }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
      String(SettingsFile.trim(part))
    }
    guard !parts.contains("") else {
      refuse(key, "the list has an empty part")
      return nil
    }
    guard Set(parts).count == parts.count else {
      refuse(key, "the list names the same thing twice")
      return nil
    }
    return parts
  }
}

extension SettingsReader {
  mutating func database() -> DatabaseLocation? {
    guard let text = text(.database) else { return nil }
    guard let location = DatabaseLocation(text) else {
      refuse(.database, "is neither sqlite:///<directory> nor postgres://<server>/<database>")
      return nil
    }
    return location
  }

  /// The directory of a `file:///…` URL.
  mutating func objectsDirectory() -> String? {
    guard let text = text(.objects) else { return nil }
    guard text.hasPrefix("file:///"), text.utf8.count > "file:///".utf8.count else {
      refuse(.objects, "\(quoted(text)) is not file:///<directory>")
      return nil
    }
    return String(text.dropFirst("file://".count))
  }

  /// A whole number in decimal digits.
  mutating func number(_ key: Key, in range: ClosedRange<Int64>) -> Int64? {
    guard let text = text(key) else { return nil }
    guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
      let number = Int64(text), range.contains(number)
    else {
      refuse(
        key, "\(quoted(text)) is no number from \(range.lowerBound) to \(range.upperBound)")
      return nil
    }
    return number
  }

  mutating func address(_ key: Key) -> SocketAddress? {
    guard let text = text(key) else { return nil }
    return address(key, text)
  }

  /// Loopback only: metrics need no signature, so no other machine may ask.
  mutating func metricsAddress(fallback: String) -> SocketAddress? {
    guard let address = address(.metricsListen, text(.metricsListen) ?? fallback) else {
      return nil
    }
    guard address.host == "::1" || address.host.hasPrefix("127.") else {
      refuse(.metricsListen, "\(quoted(address.host)) is not a loopback address")
      return nil
    }
    return address
  }

  private mutating func address(_ key: Key, _ text: String) -> SocketAddress? {
    guard let address = SocketAddress(text) else {
      refuse(key, "\(quoted(text)) is not <address>:<port>, e.g. \(key.documentation.example)")
      return nil
    }
    return address
  }

  /// Host names in lower case, each with a port or without.
  mutating func authorities(_ key: Key) -> [String]? {
    guard let parts = list(key) else { return nil }
    for part in parts where !Self.isAuthority(part) {
      refuse(key, "\(quoted(part)) is not a host name, e.g. sync.example.com:8443")
    }
    return parts.map { $0.lowercased() }
  }

  private static func isAuthority(_ text: String) -> Bool {
    let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789.-_:[]".utf8)
    guard text.lowercased().utf8.allSatisfy(allowed.contains), text.utf8.count <= 255 else {
      return false
    }
    let host: Substring
    let port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { return false }
      host = text[...end]
      let rest = text[text.index(after: end)...]
      guard rest.isEmpty || rest.hasPrefix(":") else { return false }
      port = rest.isEmpty ? nil : rest.dropFirst()
    } else {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count <= 2 else { return false }
      host = parts[0]
      port = parts.count == 2 ? parts[1] : nil
    }
    if let port { guard let number = UInt16(port), number > 0 else { return false } }
    return !host.isEmpty
  }

  mutating func trustedProxies() -> [AddressRange] {
    var ranges: [AddressRange] = []
    for part in list(.trustedProxies) ?? [] {
      if let range = AddressRange(part) {
        ranges.append(range)
      } else {
        refuse(.trustedProxies, "\(quoted(part)) is not an address or a network like 10.0.0.0/8")
      }
    }
    return ranges
  }

  mutating func catalogue() -> Catalogue? {
    guard let path = text(.plans) else { return .standard }
    do {
      return try CatalogueFile.catalogue(of: TextFile.bytes(at: path))
    } catch let failure as TextFile.Failure {
      refuse(.plans, "\(path) \(failure.text)")
    } catch let failure as CatalogueFile.Failure {
      refuse(.plans, "\(path) \(failure.text)")
    } catch {
      refuse(.plans, "\(path) cannot be used")
    }
    return nil
  }

  mutating func sealingKeys() -> SealingKeys? {
    guard let parts = list(.sealingKeys) else { return nil }
    var keys: [Secret] = []
    for (index, part) in parts.enumerated() {
      guard let bytes = Base64.standard.decode(part), bytes.count == 32 else {
        refuse(.sealingKeys, "key \(index + 1) is not 32 bytes in base64")
        continue
      }
      keys.append(Secret(bytes))
    }
    guard keys.count == parts.count else { return nil }
    do throws(CryptoError) {
      return try SealingKeys(keys)
    } catch {
      refuse(.sealingKeys, "the keys cannot be used together")
      return nil
    }
  }

  /// An https address; plain http only to this machine.
  mutating func url(_ key: Key) -> String? {
    guard let text = text(key) else { return nil }
    guard let address = WebAddress(text), address.isPrivate, !text.hasSuffix("/") else {
      // Quoted unless it may hold a password.
      refuse(
        key,
        (text.contains("@") ? "the address" : quoted(text))
          + " is not https://<host> without a user before it and a slash at the end (http only to "
          + "this machine)")
      return nil
    }
    return text
  }

  /// The bytes of a small file that a setting names.
  mutating func file(_ key: Key) -> [UInt8]? {
    guard let path = text(key) else { return nil }
    do {
      return try TextFile.bytes(at: path)
    } catch {
      refuse(key, "\(path) \(error.text)")
      return nil
    }
  }

  /// Reports the keys of a group that are missing while `leader` is set, or set while it is not.
  mutating func together(_ leader: Key, _ keys: [Key]) -> Bool {
    let isOn = has(leader)
    for key in keys where has(key) != isOn {
      refuse(
        key,
        isOn ? "is required with \(leader.rawValue)" : "is set, but \(leader.rawValue) is not")
    }
    return isOn && keys.allSatisfy(has)
  }

  func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { 0x21...0x7E ~= $0 } }

  func quoted(_ text: String) -> String { "\"\(text)\"" }
}
