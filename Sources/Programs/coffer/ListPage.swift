/// What a command shows of a list that may be longer.
struct ListPage<Row> {
  let rows: [Row]
  private let isLast: Bool

  /// `found` is one more than is shown, where there are more.
  init(_ found: [Row], limit: Int) {
    rows = Array(found.prefix(limit))
    isLast = found.count <= limit
  }

  /// How to go on, where there is more: `100 of 100,022 accounts; go on with --after …`.
  func notice(
    of things: String, next: (Row) -> String, count: () throws -> Int64
  ) rethrows -> String? {
    guard !isLast, let last = rows.last else { return nil }
    let (shown, all) = (Int64(rows.count).grouped, try count().grouped)
    return "\(shown) of \(all) \(things); go on with --after \(next(last))"
  }

  /// The same of a list that nobody counts.
  func notice(of things: String, next: (Row) -> String) -> String? {
    guard !isLast, let last = rows.last else { return nil }
    return "there are more \(things); go on with --after \(next(last))"
  }
}
