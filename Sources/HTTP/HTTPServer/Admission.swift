package import HTTPMessages

/// The body that an admitted request may send, and what happens when it has sent it.
///
/// Exactly one of `finish` and `abandon` is called, once.
package struct Admission: Sendable {
  package enum Body: Sendable {
    case none
    /// Collected in memory and handed to `finish`.
    case memory(byteCountMax: Int)
    /// Written to the sink as it arrives, on the worker; `finish` then receives no bytes.
    case stream(byteCountMax: Int64, any BodySink)
  }

  package let body: Body
  /// Answers the request, on the worker, when its body is complete.
  package let finish: @Sendable ([UInt8]) throws -> Step<Response>
  /// Releases what the admission reserved, if the request ends before `finish`.
  package let abandon: (@Sendable () -> Void)?

  package init(
    body: Body, finish: @escaping @Sendable ([UInt8]) throws -> Step<Response>,
    abandon: (@Sendable () -> Void)? = nil
  ) {
    self.body = body
    self.finish = finish
    self.abandon = abandon
  }
}

/// Takes the bytes of one body in order, e.g. into a temporary file.
package protocol BodySink: AnyObject, Sendable {
  /// Called on one worker thread at a time. An error that it throws refuses the request.
  func write(_ bytes: RawSpan) throws

  /// Whether nothing more should be read from the client until `proceed` is called, once, on any thread.
  func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool
}

extension BodySink {
  package func pause(_ proceed: @escaping @Sendable () -> Void) -> Bool { false }
}
