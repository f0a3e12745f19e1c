import Base
import Glibc
import HTTPServer
import Storage

/// The start of a program: reads its arguments and settings, or ends it with a clear message.
package enum Launch {
  /// What the arguments of `coffer-sync` and `coffer-billing` ask for.
  package enum Request: Equatable {
    case run(configPath: String?)
    case help
    case version
    case refused(String)
  }

  /// The configuration made by `make`. On failure, ends the process with the problems on stderr.
  ///
  /// `--help` prints the help and ends with 0, a wrong argument ends with 64, a wrong configuration with 78.
  package static func configuration<Configuration>(
    of program: Program, _ table: SettingsTable,
    _ make: (Settings) throws(ConfigurationError) -> Configuration
  ) -> Configuration {
    switch request(Array(CommandLine.arguments.dropFirst())) {
    case .help:
      print(help(program, table), terminator: "")
      exit(ExitCode.ok.rawValue)
    case .version:
      print("\(program.rawValue) \(Version.text)")
      exit(ExitCode.ok.rawValue)
    case .refused(let sentence):
      end(program, [sentence], .usage)
    case .run(let configPath):
      do throws(ConfigurationError) {
        return try make(Settings(table, environment: environment(), configPath: configPath))
      } catch {
        end(program, error.lines, .configuration)
      }
    }
  }

  package static func request(_ arguments: [String]) -> Request {
    var rest = arguments[...]
    var configPath: String?
    while let argument = rest.popFirst() {
      switch argument {
      case "--help", "-h": return .help
      case "--version": return .version
      case "--config":
        guard let path = rest.popFirst(), !path.isEmpty else {
          return .refused("--config needs a path")
        }
        configPath = path
      default: return .refused("there is no argument \(argument); see --help")
      }
    }
    return .run(configPath: configPath)
  }

  package static func help(_ program: Program, _ table: SettingsTable) -> String {
    """
    \(program.rawValue): \(program.abstract)

    usage: \(program.rawValue) [--config <path>]

      --config <path>  a file of settings, KEY=value lines; the environment wins over it
      --help           print this text
      --version        print which coffer this is

    SIGTERM and SIGINT end the program once open requests are answered.

    settings:
    \(SettingsHelp.text(table, for: program))
    exit codes:
    \(SettingsHelp.exitCodes())
    """
  }

  /// This process's environment.
  package static func environment() -> [String: String] {
    var variables: [String: String] = [:]
    var entry = unsafe environ
    while let text = unsafe entry.pointee {
      let parts = unsafe String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      unsafe entry += 1
    }
    return variables
  }

  /// Ends the process with the error's own sentence, because something outside the process failed, or because
  /// it or its configuration does not fit the database. In the second case a restart would not help.
  ///
  /// If another program listens where `metrics` should, the line says which setting to change.
  package static func end(
    _ program: Program, _ error: any Error, metrics: MetricsListener
  ) -> Never {
    switch error {
    case HTTPServerError.addressInUse(let address) where address == metrics.address:
      end(
        program,
        [
          "\(error): \(SharedSettings.metricsListen.name) must differ between the programs, so set it "
            + "in the environment of each, not in a file that both read"
        ], .unavailable)
    case let error as ConfigurationError: end(program, error.lines, .configuration)
    case DatabaseError.migration, DatabaseError.forbidden:
      end(program, ["\(error)"], .configuration)
    default: end(program, ["\(error)"], .unavailable)
    }
  }

  private static func end(_ program: Program, _ problems: [String], _ code: ExitCode) -> Never {
    for problem in problems {
      let line = Array("\(Log.mark(.error))\(program.rawValue): \(problem)\n".utf8)
      _ = unsafe write(STDERR_FILENO, line, line.count)
    }
    exit(code.rawValue)
  }
}
