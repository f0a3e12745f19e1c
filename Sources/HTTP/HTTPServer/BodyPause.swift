import Base
import HTTPMessages

/// The time for which a body is not read because its sink has no room.
///
/// libmicrohttpd calls again only when more of the body has come, so the client gets a deadline for it at the end.
final class BodyPause: Expirable {
  let since = MonotonicTime.now()
  private let waiting = Waiting<Void> { _ in }
  private let peer: Peer
  private let span: Instant.Span

  /// `span` is the client's time for more of the body.
  init(_ peer: Peer, span: Instant.Span) {
    self.peer = peer
    self.span = span
  }

  func end() {
    peer.receive(until: .now() + span)
    waiting.complete(.success(()))
  }

  func expire(_ problem: Problem) {
    peer.receive(until: .now() + span)
    waiting.expire(problem)
  }

  /// Suspends the connection and returns nil if the pause goes on.
  func outcome(orSuspend connection: Connection) -> Result<Void, any Error>? {
    waiting.outcome(orSuspend: connection)
  }
}
