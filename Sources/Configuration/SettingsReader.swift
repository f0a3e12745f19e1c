package import Base
import S3
package import Tiers

/// Turns the given settings into typed values and collects their problems.
///
/// Each function returns nil if its setting is absent or refused. If `problems` stays empty, nil
/// means an absence that is allowed.
package struct SettingsReader {
  private let settings: Settings
  private let program: Program
  package private(set) var problems: [ConfigurationError.Problem]

  package init(_ settings: Settings, for program: Program) {
    self.settings = settings
    self.program = program
    problems = settings.problems
  }

  /// What `body` reads for a command. Throws all problems of the settings at once.
  package static func read<Values>(
    _ settings: Settings, _ body: (inout SettingsReader) -> Values
  ) throws(ConfigurationError) -> Values {
    var reader = SettingsReader(settings, for: .command)
    let values = body(&reader)
    guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
    return values
  }

  var stores: [any StoreConfiguration.Type] { settings.table.stores }

  /// Whether settings for tests alone may be used.
  package var isTest: Bool { settings.isTest }

  package func has(_ setting: any AnySetting) -> Bool { settings.values[setting.name] != nil }

  /// The value of a setting. Reports a value that is refused, or missing without a default.
  package mutating func value<Value>(_ setting: some AnySetting<Value>) -> Value? {
    guard let text = text(setting) else { return nil }
    do throws(ParseFailure) {
      if let refusal = Surroundings.refusal(of: text) {
        throw ParseFailure(setting.isSecret(text) ? refusal : "\(quoted(text)) \(refusal)")
      }
      return try setting.parser.parse(text)
    } catch {
      let ending = error.asksForExample ? ", e.g. \(setting.example)" : ""
      for sentence in error.sentences { refuse(setting, sentence + ending) }
      return nil
    }
  }

  /// The value of a setting with a default; 1 if it is refused, which `problems` says.
  mutating func number(_ setting: Setting<Int64>) -> Int64 { value(setting) ?? 1 }

  private mutating func text(_ setting: any AnySetting) -> String? {
    precondition(
      settings.table.setting(named: setting.name) != nil, "\(setting.name) is not in the table")
    if let given = settings.values[setting.name] { return given.text }
    if setting.absence.isRequired(by: program) {
      report(.init(.missing, "\(setting.name): is required, e.g. \(setting.example)"))
    }
    return setting.absence.value(for: program)
  }

  /// Reports a rule that the setting's value breaks; `rule` is a sentence without its subject.
  package mutating func refuse(_ setting: any AnySetting, _ rule: String) {
    let origin = settings.values[setting.name].map { " (\($0.origin.text))" } ?? ""
    report(.init(.invalid, "\(setting.name)\(origin): \(rule)"))
  }

  /// Reports a problem once: a setting that is read twice is refused both times.
  private mutating func report(_ problem: ConfigurationError.Problem) {
    if !problems.contains(problem) { problems.append(problem) }
  }

  /// Reports the settings of a group that are missing while `leader` is set, or set while it is not.
  package mutating func together(_ leader: any AnySetting, _ settings: [any AnySetting]) -> Bool {
    let isOn = has(leader)
    for setting in settings where has(setting) != isOn {
      refuse(
        setting, isOn ? "is required with \(leader.name)" : "is set, but \(leader.name) is not")
    }
    return isOn && settings.allSatisfy(has)
  }
}

extension SettingsReader {
  /// The plans, with products in the form that each store requires; nil if none are given.
  package mutating func catalogue() -> Catalogue? {
    guard let catalogue = value(SharedSettings.plans) else { return nil }
    checkProducts(of: catalogue)
    return catalogue
  }

  /// Reports products that cannot belong to their store.
  package mutating func checkProducts(of catalogue: Catalogue) {
    for store in stores {
      for plan in catalogue.paid {
        for product in plan.products where product.provider == store.store {
          guard let rule = store.refusal(of: product, of: plan) else { continue }
          refuse(SharedSettings.plans, "plan \(plan.id), product \(product.id): \(rule)")
        }
      }
    }
  }

  /// The keys of a bucket, from their own setting or from the file that another names; nil if none are given.
  mutating func bucketKeys() -> BucketKeys? {
    let (own, file) = (value(SyncSettings.objectsKey), value(SyncSettings.objectsKeyFile))
    if has(SyncSettings.objectsKey), has(SyncSettings.objectsKeyFile) {
      refuse(SyncSettings.objectsKeyFile, "is set beside \(SyncSettings.objectsKey.name)")
    }
    return own ?? file
  }

  /// The clock every program of the installation uses.
  package mutating func clock() -> Clock {
    _ = value(SharedSettings.mode)
    guard has(SharedSettings.testClock) else { return .system }
    guard isTest else {
      refuse(SharedSettings.testClock, "is refused unless \(SharedSettings.mode.name)=test")
      return .system
    }
    return value(SharedSettings.testClock) ?? .system
  }

  mutating func configuredStores() -> [any StoreConfiguration] {
    var configured: [any StoreConfiguration] = []
    for type in stores {
      if let store = type.init(reading: &self) { configured.append(store) }
    }
    return configured
  }

  /// The environment whose purchases count for everyone: the one that a store names, otherwise the live one.
  mutating func grantingEnvironment() -> StoreEnvironment {
    for store in stores {
      if let environment = store.grantingEnvironment(reading: &self) { return environment }
    }
    return .live
  }
}
