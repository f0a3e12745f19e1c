import Base

enum DocumentMetrics {
  static let stored = Metrics.shared.counter(
    "coffer_document_versions_total", "Versions of documents that were stored.")
  private static let broken: [VersionRule: Metrics.Counter] = Dictionary(
    uniqueKeysWithValues: VersionRule.allCases.map { rule in
      (
        rule,
        Metrics.shared.counter(
          "coffer_document_versions_refused_total",
          "Versions of documents that broke a rule, so that their batch was refused, by rule.",
          label: ("rule", rule.rawValue))
      )
    })

  /// Exposes every instrument from the start, with the value 0.
  static func register() { _ = (stored, broken) }

  static func count(_ refusal: DocumentRefusal) {
    guard case .versionsRefused(let failures, _) = refusal else { return }
    for failure in failures { broken[failure.rule]?.add() }
  }
}
