internal import Configuration
internal import KnownStores

/// A command line that fits its command: every parameter has its value.
struct Invocation: Sendable {
  private var values: [String: any Sendable] = [:]
  /// The command's words.
  let name: String
  let settings: Settings

  /// `texts` holds what was given for each parameter, by its name. Arguments are judged before
  /// options.
  init(
    of command: Command, _ texts: [String: [String]], environment: [String: String]
  ) throws(CommandFailure) {
    name = command.name
    for parameter in command.arguments + command.allOptions {
      guard !parameter.isRequired || texts[parameter.name] != nil else {
        throw CommandFailure(.usage, "\(command.name) needs \(parameter.name)")
      }
      values[parameter.name] = try parameter.held(texts[parameter.name] ?? [])
    }
    settings = Settings(
      .coffer, environment: environment, configPath: texts[CommonOptions.config.name]?.last)
  }

  /// The value of a parameter that the command declares.
  subscript<Value>(_ parameter: Parameter<Value>) -> Value {
    guard let held = values[parameter.name] as? Held<Value> else {
      preconditionFailure("the command does not declare \(parameter.name)")
    }
    return held.value
  }
}
