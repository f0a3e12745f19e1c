internal import Configuration
internal import Glibc

exit(Entry.run(Array(CommandLine.arguments.dropFirst())).rawValue)
