package import Configuration

/// A command line that matches its command: every parameter has its value.
package struct Invocation: Sendable {
  private var values: [String: any Sendable] = [:]
  /// The command's words.
  package let name: String
  package let settings: Settings

  /// `texts` holds what was given for each parameter, by its name. Arguments are checked before options.
  package init(
    of command: Command, _ texts: [String: [String]], settings table: SettingsTable,
    environment: [String: String]
  ) throws(CommandFailure) {
    name = command.name
    for parameter in command.arguments + command.allOptions {
      guard !parameter.isRequired || texts[parameter.name] != nil else {
        throw CommandFailure(.usage, "\(command.name) needs \(parameter.name)")
      }
      values[parameter.name] = try parameter.held(texts[parameter.name] ?? [])
    }
    settings = Settings(
      table, environment: environment, configPath: texts[CommonOptions.config.name]?.last)
  }

  /// The value of a parameter that the command declares.
  package subscript<Value>(_ parameter: Parameter<Value>) -> Value {
    guard let held = values[parameter.name] as? Held<Value> else {
      preconditionFailure("the command does not declare \(parameter.name)")
    }
    return held.value
  }
}
