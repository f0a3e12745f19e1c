/// One of a store's two environments, which never mix. One of them grants storage. Data of the
/// other is recorded and grants nothing.
package enum StoreEnvironment: String, Sendable, CaseIterable { case live, sandbox }
