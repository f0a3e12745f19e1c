import Base
import JSON

struct Appended: Sendable {
  let log: Identifier
  let owner: Identifier
  let epoch: Identifier
  let head: Int64
  /// The messages that were new, and their contents' length.
  let addedCount: Int
  let addedByteCount: Int64
  /// The hash of all timestamps.
  let root: Int32
  /// The timestamps under which the epoch holds another content.
  let different: [LogTimestamp]

  var json: JSONValue {
    [
      "log": .string(log.description), "epoch": .string(epoch.description),
      "messages": .integer(head), "added": .integer(Int64(addedCount)),
      "root": .integer(Int64(root)),
      "different": .array(different.map { .string($0.description) }),
    ]
  }
}
