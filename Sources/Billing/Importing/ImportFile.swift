/// A list of purchases and their accounts, from operators who move from another system.
package struct ImportFile {
  package struct Row: Sendable {
    package let line: Int
    /// The account as an operator names it.
    package let account: String
    package let store: String
    /// A number of the store's. Some of them are secrets.
    package let id: String
  }

  package let rows: [Row]

  package static let rowCountMax = 100_000

  /// Required columns, in any order.
  private static let columns = ["account", "store", "id"]
  /// Further columns of a report, so that the report can be imported once it is fixed.
  private static let reported = ["line", "problem"]

  /// Throws one line if this is not such a list; nothing of it is used then.
  package init(_ bytes: [UInt8]) throws(ImportProblem) {
    let records = try CSV.records(bytes, atMost: Self.rowCountMax + 1)
    guard let header = records.first else { throw ImportProblem("it is empty") }
    let places = try Self.places(header.fields.map { Self.trimmed($0).lowercased() })
    let count = header.fields.count
    rows = try records.dropFirst().map { (record) throws(ImportProblem) in
      guard record.fields.count == count else {
        throw ImportProblem(
          "line \(record.line) has \(record.fields.count) "
            + "field\(record.fields.count == 1 ? "" : "s"), the first \(count)")
      }
      let values = places.map { Self.trimmed(record.fields[$0]) }
      return Row(
        line: record.line, account: values[0], store: values[1].lowercased(), id: values[2])
    }
  }

  private static func places(_ names: [String]) throws(ImportProblem) -> [Int] {
    let expected = "its first line names the columns account, store and id"
    if let strange = names.first(where: { !(columns + reported).contains($0) }) {
      throw ImportProblem("there is no column \(strange.prefix(60)): \(expected)")
    }
    var places: [Int] = []
    for column in columns {
      guard let place = names.firstIndex(of: column) else {
        throw ImportProblem("the column \(column) is missing: \(expected)")
      }
      places.append(place)
    }
    if let double = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw ImportProblem("the column \(double) is there twice: \(expected)")
    }
    return places
  }

  private static func trimmed(_ text: String) -> String {
    let inner = text.drop { $0 == " " || $0 == "\t" }
    return String(inner.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
