package import HTTPMessages

/// One endpoint: a method, a path pattern, and the function that admits requests to it.
package struct Route: Sendable {
  /// `GET` also serves HEAD unless there is a route for HEAD; the head still shows which of the two it is.
  package let method: String
  /// Segments are literal or, in braces, captured; `{secret}` is in no log. `elsewhere` is for paths of no other route.
  package let pattern: String
  /// Checks a request by its head alone, on the connection's worker, before any body byte is read.
  ///
  /// The second argument holds the captured segments in order, raw as received. An error that it
  /// throws becomes the response; a client that waits for `100 Continue` then never sends its body.
  package let admit: @Sendable (RequestHead, [Substring]) throws -> Step<Admission>

  /// The pattern of the one route for every path that no other route has, by whatever method.
  package static let elsewhere = "*"

  package init(
    _ method: String, _ pattern: String,
    admit: @escaping @Sendable (RequestHead, [Substring]) throws -> Step<Admission>
  ) {
    self.method = method
    self.pattern = pattern
    self.admit = admit
  }
}
