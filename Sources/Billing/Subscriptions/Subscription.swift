package import Base
package import Tiers

/// Everything known about one subscription: what its store told, and what we decided about it.
///
/// A join-semilattice like its parts; everything else about a subscription is a function of it.
package struct Subscription: Hashable, Sendable {
  package let key: ObjectKey
  package private(set) var store: Store
  package private(set) var decisions = Decisions.none
  /// The owner of the purchase that this one continues.
  package var predecessor: Identifier?
  /// Since when its store has not answered reads of it; nil while it does.
  package var unansweredSince: Instant?

  package enum Store: Hashable, Sendable {
    case stripe(StripeClosure)
    case apple(AppleClosure)
    case google(GoogleClosure)

    /// With nothing known yet.
    fileprivate init(_ key: ObjectKey) {
      self =
        switch key.provider {
        case .stripe: .stripe(StripeClosure(id: key.id))
        case .apple: .apple(AppleClosure(id: key.id))
        case .google: .google(GoogleClosure(id: key.id))
        }
    }
  }

  package init(_ key: ObjectKey) {
    self.key = key
    store = Store(key)
  }

  /// Joins one object as a source shows it. Another provider's object is a mistake, and ignored.
  @discardableResult
  package mutating func insert(_ fact: Fact, source: Int64) -> MirrorChange {
    // A closure is taken out of the store while it changes, or each change would copy it whole.
    switch fact.object {
    case .stripe(let object):
      guard case .stripe(var closure) = store else { return MirrorChange() }
      store = Store(key)
      defer { store = .stripe(closure) }
      return closure.insert(object, id: fact.key.id, asOf: fact.asOf, source: source)
    case .apple(let object):
      guard case .apple(var closure) = store else { return MirrorChange() }
      store = Store(key)
      defer { store = .apple(closure) }
      return closure.insert(object, id: fact.key.id, asOf: fact.asOf, source: source)
    case .google(let object):
      guard case .google(var closure) = store else { return MirrorChange() }
      store = Store(key)
      defer { store = .google(closure) }
      return closure.insert(object, id: fact.key.id, asOf: fact.asOf, source: source)
    }
  }

  package mutating func insert(_ decisions: Decisions) { self.decisions.merge(decisions) }

  /// Joins what is known of the same subscription elsewhere.
  package mutating func merge(_ other: Subscription) {
    switch (store, other.store) {
    case (.stripe(var closure), .stripe(let more)):
      closure.merge(more)
      store = .stripe(closure)
    case (.apple(var closure), .apple(let more)):
      closure.merge(more)
      store = .apple(closure)
    case (.google(var closure), .google(let more)):
      closure.merge(more)
      store = .google(closure)
    default: break
    }
    decisions.merge(other.decisions)
  }

  /// Whether maximal values disagree, so that the provider must be read again.
  package var isDirty: Bool {
    switch store {
    case .stripe(let closure): closure.isDirty
    case .apple(let closure): closure.isDirty
    case .google(let closure): closure.isDirty
    }
  }

  /// Objects of its store that it names and that nobody told of, though they say what is owed.
  package var unknown: [ObjectKey] {
    guard case .stripe(let closure) = store else { return [] }
    return closure.unknownInvoices.sorted().map { key.sibling(.invoice, $0) }
  }

  package func coverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    let known = knownCoverage(policy: policy, catalogue: catalogue)
    guard let unansweredSince, willRenew else { return known }
    return known.carriedOn(unansweredSince: unansweredSince, longest: policy.outage)
  }

  private func knownCoverage(policy: Policy, catalogue: Catalogue) -> Coverage {
    switch store {
    case .stripe(let closure): closure.coverage(policy: policy, catalogue: catalogue)
    case .apple(let closure): closure.coverage(policy: policy, catalogue: catalogue)
    case .google(let closure): closure.coverage(policy: policy, catalogue: catalogue)
    }
  }

  /// What it is where `coverage`, its own, owes nothing.
  package func labelWithoutAccess(_ coverage: Coverage) -> Label {
    let hadAccess = !coverage.intervals.isEmpty
    return switch store {
    case .stripe(let closure): closure.labelWithoutAccess(hadAccess: hadAccess)
    case .apple(let closure): closure.labelWithoutAccess(hadAccess: hadAccess)
    case .google(let closure): closure.labelWithoutAccess(hadAccess: hadAccess)
    }
  }

  package func label(_ coverage: Coverage, at now: Instant) -> Label {
    Label(coverage, withoutAccess: labelWithoutAccess(coverage), at: now)
  }

  /// Whether the provider will bill again if nobody does anything.
  package var willRenew: Bool {
    switch store {
    case .stripe(let closure): closure.willRenew
    case .apple(let closure): closure.willRenew
    case .google(let closure): closure.willRenew
    }
  }

  package var ownership: Ownership {
    Ownership(token: token, predecessor: predecessor, decisions: decisions)
  }

  private var token: OwnerToken {
    switch store {
    case .stripe(let closure): closure.token
    case .apple(let closure): closure.token
    case .google(let closure): closure.token
    }
  }

  /// The accounts that the provider or a purchase before it names.
  package var candidates: Set<Identifier> {
    var accounts = Set([predecessor].compactMap { $0 })
    if case .account(let account, _) = token { accounts.insert(account) }
    return accounts
  }

  /// The customers it says it belongs to, whose end is its end too (Stripe).
  package var customers: [ObjectKey] {
    guard case .stripe(let closure) = store else { return [] }
    return Set(closure.subscription.contents.compactMap { $0.customer }).sorted()
      .map { key.sibling(.customer, $0) }
  }

  /// Whether its store takes it back unless somebody acknowledges it (Google Play).
  package var needsAcknowledgement: Bool {
    guard case .google(let closure) = store else { return false }
    return closure.needsAcknowledgement
  }

  /// Where it counts: a licence tester's purchase is of the sandbox, whatever its notifications say.
  package var partition: ObjectKey.Partition {
    if case .google(let closure) = store, closure.isTest { return .sandbox }
    return key.partition
  }
}
