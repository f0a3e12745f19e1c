import Base
import Requests

/// A page of a list that begins with the newest: `before` and `limit` of a query. Other names are ignored.
struct NewestFirst {
  private(set) var before = Int64.max
  private(set) var limit = 100

  init(_ query: Substring?) throws(Refusal) {
    for (name, value) in queryFields(query) {
      switch name {
      case "before":
        guard let number = Int64(value) else { throw .limitInvalid }
        before = number
      case "limit":
        guard let number = Int(value), 1...Updates.limitMax ~= number else { throw .limitInvalid }
        limit = number
      default: break
      }
    }
  }
}
