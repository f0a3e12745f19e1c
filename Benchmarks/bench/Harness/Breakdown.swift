import JSON

/// The processor time of one delivery, part by part.
struct Breakdown {
  typealias Stage = (name: String, microseconds: Double)

  struct Statement {
    let sql: String
    let perDelivery: Double
    let microseconds: Double
  }

  let store: String
  /// In order of time, measured in one thread.
  let stages: [Stage]
  /// The most expensive first.
  let statements: [Statement]
  /// How long a delivery's share of a commit waited for the disk; not processor time.
  let waitMicroseconds: Double
  /// The bytes that a delivery adds to the log.
  let logByteCount: Int
  /// The number of deliveries in a commit.
  let batchCount: Int
  /// The live server's time for each delivery.
  var serverMicroseconds = 0.0

  static let statementCount = 8

  var sum: Double { stages.map(\.microseconds).reduce(0, +) }

  /// The live server's time beyond the parts: HTTP, threads and their switches, checkpoints.
  var rest: Double { max(0, serverMicroseconds - sum) }

  /// A line for each part, a column for each store.
  static func cells(_ all: [Breakdown]) -> [[String]] {
    guard let first = all.first else { return [] }
    func line(_ name: String, _ value: (Breakdown) -> Double) -> [String] {
      [name] + all.map { Figure.decimal(value($0), places: 1) }
    }
    return [["µs of a delivery"] + all.map(\.store)]
      + first.stages.indices.map { index in
        line(first.stages[index].name) { $0.stages[index].microseconds }
      } + [
        line("the rest (HTTP, threads, checkpoints)") { $0.rest },
        line("processor time of the live server") { $0.serverMicroseconds },
        line("besides: waiting for the disk") { $0.waitMicroseconds },
      ]
  }

  /// The most expensive statements, one line each.
  var statementCells: [[String]] {
    [["µs", "times", "the dearest statements, \(store)"]]
      + statements.prefix(Self.statementCount).map { statement in
        [
          Figure.decimal(statement.microseconds, places: 1),
          Figure.decimal(statement.perDelivery, places: 2), String(statement.sql.prefix(100)),
        ]
      }
  }

  var json: JSONValue {
    func nanoseconds(_ microseconds: Double) -> JSONValue {
      .integer(Int64((microseconds * 1000).rounded()))
    }
    return [
      "store": .string(store),
      "stages": .array(
        (stages + [("rest", rest)]).map { stage in
          ["name": .string(stage.name), "nanoseconds": nanoseconds(stage.microseconds)]
        }),
      "server_processor_nanoseconds": nanoseconds(serverMicroseconds),
      "disk_wait_nanoseconds": nanoseconds(waitMicroseconds),
      "log_bytes": .integer(Int64(logByteCount)), "batch": .integer(Int64(batchCount)),
      "statements": .array(
        statements.prefix(Self.statementCount).map { statement in
          [
            "sql": .string(statement.sql), "nanoseconds": nanoseconds(statement.microseconds),
            "times_thousandths": .integer(Int64(statement.perDelivery * 1000)),
          ]
        }),
    ]
  }
}
