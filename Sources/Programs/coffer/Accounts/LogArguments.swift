import Accounts
import Base
import CommandLine
import Logs

extension Parameter where Value == Identifier {
  static var log: Parameter { .required("log", text: "id of the log", .uuid(of: "a log")) }
}

extension LogShare {
  var text: String { "\(account) may \(mode.rawValue), granted \(granted), \(state.rawValue)" }
}

extension LogRestore.Kept {
  var text: String { "epoch \(epoch) with \(messageCount) messages, until \(end)" }
}
