import Base
import JSON

extension StripeWorld {
  /// The objects in the form of the webhook endpoint's version.
  var rendering: StripeRendering { StripeRendering(world: self, version: settings.version) }

  mutating func newID(_ kind: String) -> String {
    issuedIDCount += 1
    return stripeIdentifier(kind, "\(settings.seed)/\(settings.version.rawValue)/\(issuedIDCount)")
  }

  // MARK: Events

  /// Records that something happened now. `isAsked`: a request made it happen.
  mutating func emit(
    _ type: String, _ object: JSONValue, previous: JSONValue? = nil, isAsked: Bool = false
  ) {
    let id = newID("evt")
    var data: [JSONValue.Member] = [.init("object", object)]
    if let previous { data.append(.init("previous_attributes", previous)) }
    let request: JSONValue = [
      "id": isAsked ? .string(stripeIdentifier("req", id)) : .null,
      "idempotency_key": isAsked ? .string("coffer-\(stripeLetters(id, 24))") : .null,
    ]
    let json: JSONValue = [
      "id": .string(id), "object": "event", "api_version": .string(settings.version.rawValue),
      "created": .seconds(now), "data": .object(data), "livemode": .bool(settings.isLive),
      "pending_webhooks": 1, "request": request, "type": .string(type),
    ]
    events.add(Event(id: id, type: type, created: now, json: json), id: id)
  }

  mutating func emit(invoice id: String, _ kind: String, isAsked: Bool = false) {
    emit("invoice.\(kind)", rendering.invoice(invoices[id]), isAsked: isAsked)
  }

  mutating func emit(subscription id: String, _ kind: String, isAsked: Bool = false) {
    emit(
      "customer.subscription.\(kind)", rendering.subscription(subscriptions[id]), isAsked: isAsked)
  }

  /// Changes a subscription and emits the event, with the previous values.
  mutating func update(
    _ id: String, isAsked: Bool = false, _ change: (inout Subscription) -> Void
  ) {
    let before = rendering.subscription(subscriptions[id])
    change(&subscriptions[id])
    let after = rendering.subscription(subscriptions[id])
    emit(
      "customer.subscription.updated", after, previous: before.changed(in: after),
      isAsked: isAsked)
  }

  // MARK: The timetable

  mutating func schedule(_ task: Task, at due: Instant) {
    // After all tasks due at the same moment, so that what was planned first comes first.
    let place = timetable.firstIndex { $0.due > due } ?? timetable.endIndex
    timetable.insert(Appointment(due: due, task: task), at: place)
  }

  /// When something next happens by itself; nil if after `limit`.
  func nextDue(by limit: Instant) -> Instant? {
    timetable.first.flatMap { $0.due <= limit ? $0.due : nil }
  }

  /// Performs the task that is due first.
  mutating func performNext() {
    let appointment = timetable.removeFirst()
    now = max(now, appointment.due)
    switch appointment.task {
    case .turnPeriod(let id, let end):
      let sub = subscriptions[id]
      if !sub.isEnded, sub.period.upperBound == end { turnPeriod(id) }
    case .turnAddition(let id, let item, let end): turnAddition(id, item, end)
    case .announceTrialEnd(let id):
      let sub = subscriptions[id]
      if sub.status == .trialing { emit(subscription: id, "trial_will_end") }
    case .announceRenewal(let id, let end): announceRenewal(id, end)
    case .finalize(let id):
      let invoice = invoices[id]
      if invoice.status == .draft, invoice.autoAdvance { finalize(id) }
    case .retry(let id):
      if invoices[id].nextAttempt == appointment.due { attempt(id) }
    case .cancel(let id):
      let sub = subscriptions[id]
      if !sub.isEnded, sub.cancelAt == appointment.due { end(id, sub.cancellationReason) }
    case .resumeCollection(let id):
      if subscriptions[id].resumesAt == appointment.due { resumeCollection(id, isAsked: false) }
    case .expirePendingUpdate(let id):
      if subscriptions[id].pendingUpdate?.expiresAt == appointment.due { expirePendingUpdate(id) }
    case .expireFirstPayment(let id):
      if subscriptions[id].status == .incomplete { expireFirstPayment(id) }
    case .expireSession(let id):
      if sessions[id].status == .some("open") { expireSession(id, isAsked: false) }
    case .voidResumption(let id):
      if invoices[id].status == .open { void(id, isAsked: false) }
    case .fallDue(let id): fallDue(id)
    }
  }
}
