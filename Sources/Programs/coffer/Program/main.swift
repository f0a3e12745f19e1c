import Configuration
import Glibc

exit(Entry.run(Array(CommandLine.arguments.dropFirst())).rawValue)
