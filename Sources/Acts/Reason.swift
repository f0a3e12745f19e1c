package import CommandLine
import Configuration
import Ledger

extension Form where Value == String {
  /// A text that is stored for people to read.
  package static var reason: Form {
    Form { (text, name) throws(CommandFailure) in
      let isSaid = text.unicodeScalars.contains {
        !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
      }
      guard isSaid else { throw CommandFailure(.usage, "\(name) is blank: say why") }
      guard text.utf8.count <= Decision.noteByteCountMax else {
        throw CommandFailure(.usage, "\(name) is longer than \(Decision.noteByteCountMax) bytes")
      }
      return text
    }
  }
}
