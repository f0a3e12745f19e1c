/// The effective value of each setting and its origin, for an operator to look at.
package struct EffectiveSettings: Sendable {
  package struct Row: Sendable {
    package let name: String
    /// The value as it may be printed: a secret is replaced.
    package let shown: String
    /// `default` if the setting is not set.
    package let origin: String
    package let isSet: Bool
  }

  package let rows: [Row]

  package init(_ settings: Settings) {
    rows = settings.table.rows.map { setting in
      guard let value = settings.values[setting.name] else {
        return Row(name: setting.name, shown: setting.absence.text, origin: "default", isSet: false)
      }
      return Row(
        name: setting.name, shown: setting.isSecret(value.text) ? "<secret>" : value.text,
        origin: value.origin.text, isSet: true)
    }
  }

  /// The problems that would stop each program; empty if all would start.
  ///
  /// Without a program only the given settings are checked, and missing ones are not reported.
  package static func problems(_ settings: Settings, for program: Program?) -> [String] {
    var problems: [ConfigurationError.Problem] = []
    func collect(_ check: (Settings) throws(ConfigurationError) -> Void) {
      do throws(ConfigurationError) {
        try check(settings)
      } catch {
        for problem in error.problems where !problems.contains(problem) {
          if problem.kind == .invalid || program != nil { problems.append(problem) }
        }
      }
    }
    if program != .billing {
      collect { (s) throws(ConfigurationError) in _ = try SyncConfiguration(s) }
    }
    if program != .sync {
      collect { (s) throws(ConfigurationError) in _ = try BillingConfiguration(s) }
    }
    return problems.map(\.text)
  }
}
