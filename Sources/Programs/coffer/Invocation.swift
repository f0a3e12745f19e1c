internal import Configuration
internal import KnownStores

/// A command line that fits its command.
struct Invocation: Sendable {
  private let arguments: [String: String]
  private let options: [String: [String]]
  let settings: Settings

  init(
    arguments: [String: String], options: [String: [String]], environment: [String: String]
  ) {
    self.arguments = arguments
    self.options = options
    settings = Settings(
      .coffer, environment: environment, configPath: options["--config"]?.last)
  }

  /// The value of a declared argument.
  func argument(_ name: String) -> String {
    guard let value = arguments[name] else {
      preconditionFailure("the command does not declare the argument \(name)")
    }
    return value
  }

  /// The value of an argument that may be left out.
  func optionalArgument(_ name: String) -> String? { arguments[name] }

  func option(_ name: String) -> String? { options[name]?.last }

  func all(_ name: String) -> [String] { options[name] ?? [] }

  func has(_ flag: String) -> Bool { options[flag] != nil }

  /// The value of `--limit` of a list.
  func limit(otherwise count: Int = 100) throws(CommandFailure) -> Int {
    guard let text = option("--limit") else { return count }
    guard let number = Int(text), 1...Self.limitMax ~= number else {
      throw CommandFailure(.usage, "--limit takes a number from 1 to \(Self.limitMax)")
    }
    return number
  }

  private static let limitMax = 10_000
}
