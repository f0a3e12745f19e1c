/// What a stage of a request answers: its value at once, or a promise of it.
///
/// `pending` receives a completion and must see to it that it is called exactly once, from any
/// thread; a second call is ignored. Meanwhile the connection is suspended and costs no thread. A
/// completion that comes after `ServerLimits.answerSpan` is too late: the client has had its 503.
package enum Step<Value: Sendable>: Sendable {
  case ready(Value)
  case pending(@Sendable (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void)
}
