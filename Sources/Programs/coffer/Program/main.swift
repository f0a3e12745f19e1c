internal import Configuration
internal import Glibc

StandardFiles.open()
exit(Entry.run(Array(CommandLine.arguments.dropFirst())).rawValue)
