import Base
import CommandLine
import Logs

extension Parameter where Value == Identifier {
  /// The log that a command is about.
  static var log: Parameter { .required("log", text: "id of the log", .uuid(of: "a log")) }
}

extension LogRestore.Kept {
  var text: String { "epoch \(epoch) with \(messageCount) messages, until \(end)" }
}
