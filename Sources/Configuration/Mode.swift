/// Whether virtual time is allowed; nothing else differs between the two.
package enum Mode: String, Sendable, CaseIterable { case production, test }
