import HTTPMessages

/// One part of a request that a signature covers: an identifier and its value (RFC 9421, section 2).
struct SignatureComponent {
  let name: String
  let parameters: [StructuredField.Parameter]

  /// Refuses names that no component has. `@signature-params` is always covered, so it is not named.
  init(_ item: StructuredField.Item) throws(SignatureRefusal) {
    guard let name = item.value.string else { throw .malformed("a component that is no string") }
    guard !name.isEmpty, name.utf8.allSatisfy({ !(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0) })
    else { throw .malformed("a component's name is in lower case") }
    guard name != "@signature-params" else { throw .malformed("@signature-params is implied") }
    self.name = name
    parameters = item.parameters
  }

  /// Whether both name the same component; the order of parameters does not matter (section 2).
  func isSame(as other: SignatureComponent) -> Bool {
    name == other.name && parameters.count == other.parameters.count
      && parameters.allSatisfy { other.parameters.contains($0) }
  }

  func value(
    in head: RequestHead, kinds: [String: StructuredField.Kind]
  ) throws(SignatureRefusal) -> [UInt8] {
    if name.utf8.first == UInt8(ascii: "@") { return try derivedValue(in: head) }
    return try fieldValue(in: head, kinds: kinds)
  }

  private func derivedValue(in head: RequestHead) throws(SignatureRefusal) -> [UInt8] {
    if name == "@query-param" { return try queryParameter(in: head) }
    guard parameters.isEmpty else { throw .componentUnsupported(name) }
    switch name {
    case "@method": return Array(head.method.utf8)
    case "@authority": return Array(head.normalAuthority.utf8)
    case "@scheme": return Array(head.scheme.lowercased().utf8)
    case "@path": return head.path.isEmpty ? Array("/".utf8) : Array(head.path.utf8)
    case "@query": return Array("?".utf8) + Array((head.query ?? "").utf8)
    case "@request-target": return Array(head.target.utf8)
    case "@target-uri":
      let origin = "\(head.scheme.lowercased())://\(head.normalAuthority)"
      return Array((origin + head.target).utf8)
    default: throw .componentUnsupported(name)
    }
  }

  /// Section 2.2.8: decoded as a form, then encoded again; a name that occurs twice has no value.
  private func queryParameter(in head: RequestHead) throws(SignatureRefusal) -> [UInt8] {
    guard parameters.count == 1, parameters[0].name == "name",
      let name = parameters[0].value.string
    else { throw .componentUnsupported(self.name) }
    guard let wanted = FormEncoding.decode(name.utf8, plusIsSpace: false) else {
      throw .malformed("a query parameter's name that is no encoding")
    }
    var found: [UInt8]?
    for pair in (head.query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
      let parts = pair.split(
        separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = FormEncoding.decode(parts[0], plusIsSpace: true), key == wanted else {
        continue
      }
      guard found == nil else { throw .malformed("the query parameter \(name) stands twice") }
      let text = parts.count == 2 ? Array(parts[1]) : []
      guard let value = FormEncoding.decode(text, plusIsSpace: true) else {
        throw .malformed("the query parameter \(name) is no encoding")
      }
      found = FormEncoding.encode(value)
    }
    guard let found else { throw .componentAbsent("@query-param \(name)") }
    return found
  }

  private func fieldValue(
    in head: RequestHead, kinds: [String: StructuredField.Kind]
  ) throws(SignatureRefusal) -> [UInt8] {
    var isStrict = false
    var isWrapped = false
    var key: String?
    for parameter in parameters {
      switch (parameter.name, parameter.value) {
      case ("sf", .boolean(true)): isStrict = true
      case ("bs", .boolean(true)): isWrapped = true
      case ("key", .string(let text)): key = text
      default: throw .componentUnsupported("\(name);\(parameter.name)")
      }
    }
    let lines = head.headers.all(name).map(Self.canonical)
    guard !lines.isEmpty else { throw .componentAbsent(name) }
    if isWrapped {
      // Section 2.1.3: bs excludes sf and key, because they parse the text and bs does not.
      guard !isStrict, key == nil else { throw .componentUnsupported("\(name);bs") }
      return StructuredField.serialize(list: lines.map { .item(.init(.bytes($0))) })
    }
    let whole = Array(lines.joined(separator: Array(", ".utf8)))
    do {
      if let key { return try Self.member(key, of: whole, name) }
      if isStrict { return try serialized(whole, as: kinds[name]) }
    } catch let error as StructuredFieldError {
      throw .malformed("\(name): \(error.reason)")
    } catch let refusal as SignatureRefusal {
      throw refusal
    } catch {
      throw .malformed(name)
    }
    return whole
  }

  /// Section 2.1.1.
  private func serialized(_ value: [UInt8], as kind: StructuredField.Kind?) throws -> [UInt8] {
    switch kind {
    case .dictionary:
      return StructuredField.serialize(dictionary: try StructuredFieldParser.dictionary(value))
    case .list: return StructuredField.serialize(list: try StructuredFieldParser.list(value))
    case .item:
      return StructuredField.serialize(list: [.item(try StructuredFieldParser.item(value))])
    case nil: throw SignatureRefusal.componentUnsupported("\(name);sf")
    }
  }

  /// Section 2.1.2.
  private static func member(_ key: String, of value: [UInt8], _ name: String) throws -> [UInt8] {
    let entries = try StructuredFieldParser.dictionary(value)
    guard let entry = entries.first(where: { $0.name == key }) else {
      throw SignatureRefusal.componentAbsent("\(name);key=\(key)")
    }
    return StructuredField.serialize(list: [entry.member])
  }

  /// One field line, trimmed, with each fold replaced by one space (section 2.1).
  private static func canonical(_ line: [UInt8]) -> [UInt8] {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    return Array(
      line.split(separator: 0x0A).map { part in
        part.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
      }.joined(separator: [0x20]))
  }
}

extension RequestHead {
  /// The host in lower case without the scheme's default port (section 2.2.3).
  var normalAuthority: String {
    let text = authority.lowercased()
    let port = scheme.lowercased() == "https" ? ":443" : ":80"
    return text.hasSuffix(port) ? String(text.dropLast(port.count)) : text
  }
}
