package import Storage

extension Row {
  /// A stored word, as the type that the context wants.
  package func word<Word: RawRepresentable<String>>(_ column: Int) throws(DatabaseError) -> Word {
    guard let word = Word(rawValue: try text(column)) else {
      throw .statement("column \(column) holds a word that is unknown here")
    }
    return word
  }
}
