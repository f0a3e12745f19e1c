/// The word that was probably meant in place of an unknown one.
package enum Suggestion {
  /// `; did you mean …?` if one of `words` is near.
  package static func text(for word: String, among words: [String], otherwise: String) -> String {
    nearest(to: word, among: words).map { "; did you mean \($0)?" } ?? otherwise
  }

  /// The first of the nearest words, if it is near: at most a third of its letters differ, but always
  /// one and never more than four.
  package static func nearest(to word: String, among words: [String]) -> String? {
    guard word.count <= 64 else { return nil }
    let best = words.map { (word: $0, distance: distance(Array(word), Array($0))) }
      .min { $0.distance < $1.distance }
    guard let best, best.distance <= max(1, min(4, best.word.count / 3)) else { return nil }
    return best.word
  }

  /// The number of letters that are inserted, left out, replaced or swapped with their neighbour.
  private static func distance(_ one: [Character], _ other: [Character]) -> Int {
    var rows = [Array(0...other.count)]
    for (row, letter) in one.enumerated() {
      var next = [row + 1]
      for (column, otherLetter) in other.enumerated() {
        var least = min(
          rows[row][column + 1] + 1, next[column] + 1,
          rows[row][column] + (letter == otherLetter ? 0 : 1))
        if row > 0, column > 0, letter == other[column - 1], one[row - 1] == otherLetter {
          least = min(least, rows[row - 1][column - 1] + 1)
        }
        next.append(least)
      }
      rows.append(next)
    }
    return rows[one.count][other.count]
  }
}
