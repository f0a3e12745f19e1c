package import Base

/// A webhook that a store has to deliver; each attempt builds and signs the request.
package struct FakeDelivery: Hashable, Sendable {
  /// Unique within its store, and the same for all attempts.
  package let id: String
  /// `stripe`, `apple` or `google`.
  package let provider: String
  package let emitted: Instant

  package init(id: String, provider: String, emitted: Instant) {
    self.id = id
    self.provider = provider
    self.emitted = emitted
  }
}

/// An HTTP request: from a store to our server, or from our client to a store's API.
package struct FakeRequest: Sendable {
  package let method: String
  /// Path and query, not decoded.
  package let path: String
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]

  package init(
    method: String, path: String, headers: [(name: String, value: String)] = [],
    body: [UInt8] = []
  ) {
    self.method = method
    self.path = path
    self.headers = headers
    self.body = body
  }

  /// The value of one field; nil if it is missing.
  package func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The whole HTTP/1.1 message, as recorded stories keep it.
  package var bytes: [UInt8] {
    var text = "\(method) \(path) HTTP/1.1\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    return Array((text + "\r\n").utf8) + body
  }
}

/// An answer of a store's API.
package struct FakeAnswer: Sendable {
  package let status: Int
  package let headers: [(name: String, value: String)]
  package let body: [UInt8]

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// A period that someone paid for or got from the store, after refunds.
package struct PaidPeriod: Hashable, Sendable {
  package let account: Identifier?
  package let productID: String
  package let from: Instant
  package let to: Instant

  package init(account: Identifier?, productID: String, from: Instant, to: Instant) {
    self.account = account
    self.productID = productID
    self.from = from
    self.to = to
  }
}
