package import Tiers

/// The permanent name of one object of one provider in one environment.
package struct ObjectKey: Hashable, Sendable {
  package let provider: Provider
  package let environment: StoreEnvironment
  package let kind: Kind
  /// The provider's own id, e.g. `sub_1Pgc6rB7WZ01zgkW`.
  package let id: String

  package init(provider: Provider, environment: StoreEnvironment, kind: Kind, id: String) {
    self.provider = provider
    self.environment = environment
    self.kind = kind
    self.id = id
  }

  /// A store's name, which the store's own module declares.
  package struct Provider: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    /// Traps if the name is not a lower-case word: names are written in code.
    package init(_ name: StaticString) {
      rawValue = "\(name)"
      precondition(isWord(rawValue), "a store's name is a lower-case word")
    }

    /// Nil if the value is not a lower-case word.
    package init?(rawValue: String) {
      guard isWord(rawValue) else { return nil }
      self.rawValue = rawValue
    }
  }

  /// The type of an object. Each store declares its own in addition to those that every store has.
  package struct Kind: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    /// Traps if the name is not a lower-case word: names are written in code.
    package init(_ name: StaticString) {
      rawValue = "\(name)"
      precondition(isWord(rawValue), "an object's kind is a lower-case word")
    }

    /// Nil if the value is not a lower-case word.
    package init?(rawValue: String) {
      guard isWord(rawValue) else { return nil }
      self.rawValue = rawValue
    }

    package static let subscription = Kind("subscription")
    /// A plan granted by an operator: evidence, not an object of a store.
    package static let grant = Kind("grant")
  }
}

/// Whether the text consists of 1 to 64 lower-case letters, dots and underscores.
private func isWord(_ text: String) -> Bool {
  (1...64).contains(text.utf8.count)
    && text.utf8.allSatisfy {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "_")
        || $0 == UInt8(ascii: ".")
    }
}

extension ObjectKey {
  /// Hashes the id only: equal keys have equal ids, and the other parts distinguish few keys.
  package func hash(into hasher: inout Hasher) { hasher.combine(id) }

  /// Another object of the same provider and environment.
  package func sibling(_ kind: Kind, _ id: String) -> ObjectKey {
    ObjectKey(provider: provider, environment: environment, kind: kind, id: id)
  }
}

extension ObjectKey: CustomStringConvertible {
  /// The only text form, as in the database: `<provider>:<environment>:<kind>:<id>`.
  package var description: String {
    "\(provider.rawValue):\(environment.rawValue):\(kind.rawValue):\(id)"
  }

  /// Reads what `description` returned.
  package init?(_ text: String) {
    let parts = text.split(separator: ":", maxSplits: 3).map(String.init)
    guard parts.count == 4, let provider = Provider(rawValue: parts[0]),
      let environment = StoreEnvironment(rawValue: parts[1]), let kind = Kind(rawValue: parts[2])
    else { return nil }
    self.init(provider: provider, environment: environment, kind: kind, id: parts[3])
  }
}

extension ObjectKey: Comparable {
  package static func < (a: ObjectKey, b: ObjectKey) -> Bool { a.description < b.description }
}
