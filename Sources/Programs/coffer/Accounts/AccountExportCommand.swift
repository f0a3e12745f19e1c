import Acts
import CommandLine
import Moving

extension Command {
  private static let target = Parameter<String>.required(
    "--to", "path", text: "archive to write; must not exist", .path)

  static let accountExport = Command(
    words: ["account", "export"],
    abstract: "Export everything stored for an account to one archive",
    discussion: """
      The archive holds ciphertext, signed records, keys, store deliveries and operators' decisions as of \
      one moment. The servers keep running. Give it to the account's owner, or import it into another \
      Coffer with coffer account import.

      Store deliveries are decrypted in it, so keep the archive as secret as they are. Run coffer account \
      suspend first if nothing may be written afterwards. Use the servers' COFFER_OBJECTS and \
      COFFER_SEALING_KEYS. docs/export.md describes the format.
      """,
    examples: ["coffer account export ada --to ada.coffer"],
    arguments: [CommonArguments.account],
    options: [target] + Act.handyOptions,
    answers: Act.handyAnswers([
      "account": .text, "archive": .text, "bytes": .integer, "records": .integer,
      "documents": .integer, "logs": .integer, "messages": .integer, "versions": .integer,
      "deliveries": .integer, "erased_deliveries": .integer, "sha256": .text,
      "erases": .orNull(.time), "links_left": .integer, "shares_left": .integer,
      "versions_left": .integer, "blobs_left": .integer, "messages_left": .integer,
      "chains_left": .integer, "public_links_left": .integer,
    ]),
    run: { invocation in
      try DatabaseSession.withCatalogueOfRecord(
        invocation, options: DatabaseSession.wholeReads
      ) { database, configuration in
        try AccountExport.write(
          invocation[CommonArguments.account], to: invocation[target],
          deletionDelay: try DeletionRequest.delay(invocation.settings), database, configuration,
          try Act(invocation, on: database))
      }
    })
}
