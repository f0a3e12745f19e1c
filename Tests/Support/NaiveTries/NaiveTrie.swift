package import JSON

/// The trie of hashes as a tree of nodes, built and pruned message by message, as devices do it.
package final class NaiveTrie {
  package private(set) var hash: Int32
  /// By the digit, in ASCII.
  package private(set) var children: [UInt8: NaiveTrie]

  package init(hash: Int32 = 0, children: [UInt8: NaiveTrie] = [:]) {
    (self.hash, self.children) = (hash, children)
  }

  /// A trie that a server sent.
  package convenience init(_ json: JSON) {
    self.init(
      hash: Int32(truncatingIfNeeded: json["hash"].integer ?? 0),
      children: Dictionary(
        uniqueKeysWithValues: (json.members ?? []).filter { $0.name != "hash" }.map {
          (Array($0.name.utf8)[0], NaiveTrie($0.value))
        }))
  }

  /// Adds the hash of a timestamp whose minute has a key, in ASCII.
  package func add(_ hash: Int32, at key: some Collection<UInt8>) {
    self.hash ^= hash
    guard let digit = key.first else { return }
    let child = children[digit] ?? NaiveTrie()
    children[digit] = child
    child.add(hash, at: key.dropFirst())
  }

  /// The two highest children of each node. A node of hash 0 stays whole.
  package func pruned() -> NaiveTrie {
    guard hash != 0 else { return self }
    let pruned = NaiveTrie()
    pruned.hash = hash
    for digit in children.keys.sorted().suffix(2) {
      pruned.children[digit] = children[digit]?.pruned()
    }
    return pruned
  }

  package var json: String {
    guard !children.isEmpty || hash != 0 else { return "{}" }
    return text
  }

  private var text: String {
    let members = children.keys.sorted().map { digit in
      ",\"\(Int(digit) - 0x30)\":\(children[digit]?.text ?? "")"
    }
    return "{\"hash\":\(hash)\(members.joined())}"
  }

  /// The minute from which on a device asks again, as it compares its trie with another's; nil if both are equal.
  package func difference(from other: NaiveTrie) -> Int64? {
    guard hash != other.hash else { return nil }
    var (a, b) = (self, other)
    var key = ""
    while true {
      let digits = Set(a.children.keys).union(b.children.keys).sorted()
      var next: (UInt8, NaiveTrie, NaiveTrie)?
      for digit in digits {
        guard let left = a.children[digit], let right = b.children[digit] else { break }
        if left.hash != right.hash {
          next = (digit, left, right)
          break
        }
      }
      guard let (digit, left, right) = next else { break }
      key.unicodeScalars.append(Unicode.Scalar(digit))
      (a, b) = (left, right)
    }
    return Int64(key + String(repeating: "0", count: 16 - key.count), radix: 3)
  }
}
