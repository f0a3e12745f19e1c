import Base
import Requests

/// A page of a list that begins with the newest: `before` and `limit` of a query. Other names are ignored.
struct NewestFirst {
  private(set) var before = Int64.max
  private(set) var limit = 100

  init(_ query: Substring?) throws(RequestRefusal) {
    for (name, value) in queryFields(query) {
      switch name {
      case "before":
        guard let number = Int64(value) else {
          throw RequestRefusal.limitInvalid(max: Updates.limitMax)
        }
        before = number
      case "limit": limit = try pageLimit(value, max: Updates.limitMax)
      default: break
      }
    }
  }
}
