/// The exit codes of all programs of Coffer; the numbers from 64 on are those of sysexits.h.
package enum ExitCode: Int32, Sendable, CaseIterable {
  case ok = 0
  /// The answer is no: refused, or not found.
  case refused = 1
  /// The request was carried out, and found something that cannot wait.
  case urgent = 2
  /// An act was shown and not carried out.
  case unconfirmed = 3
  case usage = 64
  case unavailable = 69
  case software = 70
  /// Something is left: the work continues behind the command, or the command is to be run again.
  case unfinished = 75
  case configuration = 78

  package var meaning: String {
    switch self {
    case .ok: "done"
    case .refused: "refused or not found; the line on stderr says what"
    case .urgent: "urgent items need attention (only from coffer attention)"
    case .unconfirmed: "no changes made; run again with --yes to apply the changes shown"
    case .usage: "the command line is wrong"
    case .unavailable: "the database or the other program does not answer; trying again may help"
    case .software: "a bug in Coffer; please report the line on stderr"
    case .unfinished:
      "not done yet: it continues, or is to be run again, as the line on stderr says"
    case .configuration:
      "the configuration is wrong, or does not fit the database; each line on stderr is one problem"
    }
  }
}
