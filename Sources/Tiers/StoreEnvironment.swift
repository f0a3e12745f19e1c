/// Which of a store's two worlds something belongs to; they never mix. One of them grants storage, what
/// comes of the other is recorded and grants nothing.
package enum StoreEnvironment: String, Sendable, CaseIterable { case live, sandbox }
