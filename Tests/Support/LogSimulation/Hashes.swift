import Logs
import NaiveTries

/// The hashes of timestamps, each computed once, and what they add up to in tries, computed naively.
final class Hashes {
  private var known: [Stamp: (key: String, hash: Int32)] = [:]

  /// The minute in base 3, and the hash.
  private func place(_ stamp: Stamp) -> (key: String, hash: Int32) {
    if let place = known[stamp] { return place }
    var trie = MerkleTrie()
    guard let timestamp = LogTimestamp(stamp.text), (try? trie.add([timestamp])) != nil,
      let hash = try? trie.root()
    else { preconditionFailure("no timestamp: \(stamp.text)") }
    let place = (String(stamp.milliseconds / 60_000, radix: 3), hash)
    known[stamp] = place
    return place
  }

  func root(_ stamps: some Sequence<Stamp>) -> Int32 {
    stamps.reduce(0) { $0 ^ place($1).hash }
  }

  /// The hashes of the nodes right below a node.
  func children(_ stamps: some Sequence<Stamp>, of path: String) -> [String: Int32] {
    var children: [String: Int32] = [:]
    for stamp in stamps {
      let (key, hash) = place(stamp)
      guard key.count > path.count, key.hasPrefix(path) else { continue }
      let digit = String(key.dropFirst(path.count).prefix(1))
      children[digit] = (children[digit] ?? 0) ^ hash
    }
    return children
  }

  func trie(_ stamps: some Sequence<Stamp>) -> NaiveTrie {
    let trie = NaiveTrie()
    for stamp in stamps {
      let (key, hash) = place(stamp)
      trie.add(hash, at: Array(key.utf8))
    }
    return trie
  }
}
