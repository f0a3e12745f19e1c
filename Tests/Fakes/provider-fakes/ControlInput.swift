import Base
import HTTPMessages
import JSON
import ProviderFakes

/// The JSON body of a control request.
struct ControlInput {
  private let json: JSON

  /// An empty body is an empty object.
  init(_ body: [UInt8]) throws {
    do {
      json = try JSON.parse(body.isEmpty ? Array("{}".utf8) : body).requireObject()
    } catch { throw Problem(400, "not_json", "Not JSON", "The body is a JSON object: \(error)") }
  }

  func text(_ name: String) -> String? { json[name].string }

  /// A whole number within bounds, or the default if none is given.
  func number(
    _ name: String, _ range: ClosedRange<Int64>, otherwise: Int64
  ) throws(Problem) -> Int64 {
    guard json[name].exists else { return otherwise }
    guard let number = json[name].integer, range.contains(number) else {
      throw Problem(
        400, "out_of_range", "Out of range",
        "\(name) is a number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  var trialDays: Int64 {
    get throws(Problem) { try number("trial_days", 0...365, otherwise: 0) }
  }

  func flag(_ name: String) -> Bool? { json[name].bool }

  var plan: String { text("plan") ?? "premium.monthly" }

  /// Nil if none is named.
  var account: Identifier? {
    get throws {
      guard let text = text("account") else { return nil }
      guard let account = Identifier(text) else { throw Self.unknown("account", text) }
      return account
    }
  }

  func id(of known: [String]) throws -> String {
    guard let id = text("id"), known.contains(id) else {
      throw Self.unknown("id", text("id") ?? "")
    }
    return id
  }

  /// `replica_lag_ms`; `failures`: statuses, or 0 for no answer at all; `lose_answer`: the next order takes
  /// effect, but its answer is lost.
  func script(_ faults: FakeFaults) throws(Problem) {
    let lag = try number("replica_lag_ms", 0...86_400_000, otherwise: 0)
    let wait = try number("retry_after", 0...86_400, otherwise: 0)
    var failures: [FakeFaults.Failure] = []
    for failure in json["failures"].array ?? [] {
      guard let status = failure.integer, status == 0 || (400...599).contains(status) else {
        throw Problem(
          400, "out_of_range", "Out of range",
          "failures are statuses from 400 to 599, or 0 for no answer.")
      }
      failures.append(
        status == 0 ? .timeout : .status(Int(status), retryAfter: wait > 0 ? wait : nil))
    }
    faults.setReplicaLag(.milliseconds(lag))
    faults.fail(next: failures)
    faults.loseNextAnswer(flag("lose_answer") ?? false)
  }

  static func unknown(_ kind: String, _ name: String) -> Problem {
    Problem(400, "unknown_\(kind)", "Unknown \(kind)", "There is no \(kind) \(name).")
  }
}
