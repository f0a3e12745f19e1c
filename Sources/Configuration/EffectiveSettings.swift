/// What holds for each setting and where it was said, for an operator to look at.
package struct EffectiveSettings: Sendable {
  package struct Row: Sendable {
    package let name: String
    /// Fit to print: a secret's value is replaced.
    package let shown: String
    /// `default` where nobody said anything.
    package let origin: String
    package let isSet: Bool
  }

  package let rows: [Row]

  package init(_ settings: Settings) {
    rows = settings.table.rows.map { setting in
      guard let value = settings.values[setting.name] else {
        return Row(
          name: setting.name, shown: setting.absence.text, origin: "default", isSet: false)
      }
      return Row(
        name: setting.name, shown: setting.isSecret(value.text) ? "<secret>" : value.text,
        origin: value.origin.text, isSet: true)
    }
  }

  /// What each program would refuse; empty where all would start.
  ///
  /// Without a program the settings given are checked and none is missed.
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
