import Accounts
import Base
import CommandLine
import Logs

extension Parameter where Value == Identifier {
  static var log: Parameter { .required("log", text: "id of the log", .uuid(of: "a log")) }
}

extension BudgetOfLog.Title {
  static var listing: Listing<BudgetOfLog.Title> {
    Listing<BudgetOfLog.Title>([.text("id") { $0.file }, .text("name") { $0.name }])
  }

  var text: String { Printable.text("\(file) (\(name))") }
}

extension LogShare {
  var text: String { "\(account) may \(mode.rawValue), granted \(granted), \(state.rawValue)" }
}

extension LogRestore.Kept {
  var text: String { "epoch \(epoch) with \(messageCount) messages, until \(end)" }
}
