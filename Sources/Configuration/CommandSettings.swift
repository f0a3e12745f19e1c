/// The settings that only the command line reads.
package enum CommandSettings {
  package static let actor = Setting<String>(
    "COFFER_ACTOR", for: [.command], .meaning("the SSH certificate's name, or the Unix user"),
    text: "The operator's name in the audit log. The Unix user is recorded with it.",
    example: "carol@example.com",
    parser: Parser { (text) throws(ParseFailure) in
      let isPlain = text.unicodeScalars.allSatisfy { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned: false
        default: true
        }
      }
      guard isPlain, text.utf8.count <= 100, text.contains(where: { $0 != " " }) else {
        throw ParseFailure("\(quoted(text)) is not a name of 1 to 100 bytes on one line")
      }
      return text
    })
}
