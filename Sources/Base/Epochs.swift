/// A dictionary of bounded size that forgets entries that were not used lately, without ever searching for them.
///
/// When the younger of two epochs is full, or on `age()`, it becomes the elder, and the elder is dropped whole. So at
/// most twice `countMax` entries are kept, and a dropped one was unused for at least one epoch.
package struct Epochs<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var younger: [Key: Value] = [:]
  private var elder: [Key: Value] = [:]
  private let countMax: Int

  package init(countMax: Int) { self.countMax = countMax }

  package var count: Int { younger.count + elder.count }

  /// Looking a value up counts as using it.
  package mutating func value(_ key: Key) -> Value? {
    if let value = younger[key] { return value }
    guard let value = elder.removeValue(forKey: key) else { return nil }
    set(key, value)
    return value
  }

  package mutating func set(_ key: Key, _ value: Value) {
    if younger[key] == nil {
      elder[key] = nil
      if younger.count >= countMax { age() }
    }
    younger[key] = value
  }

  package mutating func remove(_ key: Key) {
    younger[key] = nil
    elder[key] = nil
  }

  /// Begins another epoch.
  package mutating func age() {
    elder = younger
    younger = [:]
  }
}
