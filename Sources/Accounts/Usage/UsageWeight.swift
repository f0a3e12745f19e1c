/// What an account is charged for, of one kind: records, and the bytes of their content.
package struct UsageWeight: Sendable, Equatable {
  package private(set) var recordCount: Int64
  package private(set) var contentByteCount: Int64

  package init(recordCount: Int64 = 0, contentByteCount: Int64 = 0) {
    self.recordCount = recordCount
    self.contentByteCount = contentByteCount
  }

  package mutating func add(contentByteCount: Int64) {
    recordCount += 1
    self.contentByteCount += contentByteCount
  }

  package static func + (a: UsageWeight, b: UsageWeight) -> UsageWeight {
    UsageWeight(
      recordCount: a.recordCount + b.recordCount,
      contentByteCount: a.contentByteCount + b.contentByteCount)
  }
}
