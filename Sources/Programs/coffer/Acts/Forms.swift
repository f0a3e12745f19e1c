internal import Base
internal import CommandLine
internal import Configuration
internal import Ledger

extension Form where Value == String {
  /// What is kept for people to read.
  static var reason: Form {
    Form { (text, name) throws(CommandFailure) in
      let isSaid = text.unicodeScalars.contains {
        !$0.properties.isWhitespace && !$0.properties.isDefaultIgnorableCodePoint
      }
      guard isSaid else {
        throw CommandFailure(.usage, "\(name) is blank: say why")
      }
      guard text.utf8.count <= Decision.noteByteCountMax else {
        throw CommandFailure(.usage, "\(name) is longer than \(Decision.noteByteCountMax) bytes")
      }
      return text
    }
  }
}

extension Form where Value == Instant.Span {
  static var span: Form {
    Form { (text, name) throws(CommandFailure) in
      if case .fromNow(let span)? = StatedTime(text, spanIsToCome: true) { return span }
      throw CommandFailure(.usage, "\(name) takes a length of time, e.g. 90min, 26h or 2d")
    }
  }
}

extension Form where Value == Identifier {
  static var uuid: Form {
    Form { (text, name) throws(CommandFailure) in
      if let id = Identifier(text) { return id }
      throw CommandFailure(.usage, "\(name) takes a UUID")
    }
  }

  /// The id of something that has no other name.
  static func uuid(of what: String) -> Form {
    Form { (text, _) throws(CommandFailure) in
      if let id = Identifier(text) { return id }
      throw CommandFailure(.usage, "\(what) is named by its id, a UUID")
    }
  }
}
