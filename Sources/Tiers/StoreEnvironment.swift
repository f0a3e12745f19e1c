/// One of a store's two environments. One grants storage; data of the other is recorded and grants nothing.
package enum StoreEnvironment: String, Sendable, CaseIterable { case live, sandbox }
