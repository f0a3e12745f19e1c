internal import Configuration

/// A list of purchases and whose they are, by people who come from elsewhere.
struct ImportFile {
  struct Row: Sendable {
    let line: Int
    /// As an operator names it.
    let account: String
    let store: String
    /// A number of the store's, of which some are secrets.
    let id: String
  }

  let rows: [Row]

  static let rowCountMax = 100_000

  /// Columns that must be there, in any order.
  private static let columns = ["account", "store", "id"]
  /// What a report has beside them, so that it is a file like this once it is mended.
  private static let reported = ["line", "problem"]

  /// Throws one line on whatever is no such list; nothing of it is taken then.
  init(path: String) throws(CommandFailure) {
    let bytes = try InputFile.bytes(at: path)
    do throws(CommandFailure) {
      let records = try CSV.records(bytes, atMost: Self.rowCountMax + 1)
      guard let header = records.first else {
        throw CommandFailure(.refused, "it is empty")
      }
      let places = try Self.places(header.fields.map { Self.trimmed($0).lowercased() })
      rows = try records.dropFirst().map { (record) throws(CommandFailure) in
        guard record.fields.count == header.fields.count else {
          throw CommandFailure(
            .refused,
            "line \(record.line) has \(counted(record.fields.count, "field")), the first "
              + "\(header.fields.count)")
        }
        let values = places.map { Self.trimmed(record.fields[$0]) }
        return Row(
          line: record.line, account: values[0], store: values[1].lowercased(), id: values[2])
      }
    } catch {
      throw CommandFailure(error.code, Printable.text("\(path): \(error.text)"))
    }
  }

  private static func places(_ names: [String]) throws(CommandFailure) -> [Int] {
    let expected = "its first line names the columns account, store and id"
    if let strange = names.first(where: { !(columns + reported).contains($0) }) {
      throw CommandFailure(.refused, "there is no column \(strange.prefix(60)): \(expected)")
    }
    var places: [Int] = []
    for column in columns {
      guard let place = names.firstIndex(of: column) else {
        throw CommandFailure(.refused, "the column \(column) is missing: \(expected)")
      }
      places.append(place)
    }
    if let double = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw CommandFailure(.refused, "the column \(double) stands there twice: \(expected)")
    }
    return places
  }

  private static func trimmed(_ text: String) -> String {
    let inner = text.drop { $0 == " " || $0 == "\t" }
    return String(inner.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}

/// The rows that came to nothing, and why: with the problems mended, a file to import.
struct ImportReport {
  private(set) var text = CSV.line(["line", "account", "store", "id", "problem"])

  mutating func add(_ row: ImportFile.Row, _ problem: String) {
    text += CSV.line([String(row.line), row.account, row.store, row.id, problem])
  }
}
