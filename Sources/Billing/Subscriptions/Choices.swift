/// The ways to choose one value of each of several mirrors if siblings disagree.
package enum Choices {
  /// The most choices that are ever enumerated.
  private static let countMax = 64

  /// Returns the choices in a fixed order. `factor` is how many further ways each choice will be
  /// multiplied by.
  ///
  /// Beyond the bound, the remaining disputed objects keep the first value in a fixed order. So one
  /// set of facts still has one result, and a dirty record is read again anyway.
  package static func of<Content: Mirrored, Item>(
    _ mirrors: [String: Mirror<Content>], besides factor: Int,
    _ item: (_ id: String, _ content: Content) -> Item
  ) -> [[Item]] {
    var choices: [[Item]] = [[]]
    // Only ids are sorted, and most mirrors agree on one value: subscriptions of many years are read often.
    var ids = Array(mirrors.keys)
    ids.sort()
    for id in ids {
      guard let mirror = mirrors[id] else { continue }
      if let only = mirror.only {
        let item = item(id, only)
        for index in choices.indices { choices[index].append(item) }
        continue
      }
      var contents = mirror.contents
      if choices.count * factor * contents.count > countMax {
        contents.sort { String(describing: $0) < String(describing: $1) }
        contents.removeLast(contents.count - 1)
      }
      let items = contents.map { item(id, $0) }
      choices = choices.flatMap { choice in items.map { choice + [$0] } }
    }
    return choices
  }
}
