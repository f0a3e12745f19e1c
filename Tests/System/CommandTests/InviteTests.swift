import TestEngines
import Testing

struct InviteTests: CommandSuite {
  let environment: [String: String]
  private let scratch: ScratchDirectory

  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database"]
    #expect(try coffer("migrate").code == 0)
  }

  /// The value in the line that begins with the name.
  private func value(_ name: String, of text: String) throws -> String {
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
    return String(try #require(line.split(separator: " ").last))
  }

  @Test func `a code is shown once, and its invite listed until it is revoked`() throws {
    let made = try coffer("invite", "create", "--uses", "3", "--reason", "for the family")
    #expect(made.code == 0)
    let (id, code) = (try value("invite", of: made.out), try value("code", of: made.out))
    #expect(code.utf8.count == 22)
    let listed = try coffer("invite", "list", "--json").out
    #expect(listed.contains("\"invite\":\"\(id)\",\"state\":\"open\",\"used\":0,\"uses\":3"))
    #expect(listed.contains("\"note\":\"for the family\""))
    #expect(!listed.contains(code))
    #expect(try coffer("invite", "revoke", id, "--reason", "over", "--yes").code == 0)
    let row = try #require(try coffer("invite", "list").out.split(separator: "\n").last)
    #expect(row.split(separator: " ").prefix(4) == [id[...], "revoked", "0", "3"])
    let again = try coffer("invite", "revoke", id, "--reason", "over", "--yes")
    #expect(again.code == 1)
    #expect(again.errors.contains("there is no invite \(id) that is not revoked"))
  }

  @Test func `a list that ends before the invites do says how to go on`() throws {
    let ids = try (0..<3).map { _ in try value("invite", of: coffer("invite", "create").out) }
    let first = try coffer("invite", "list", "--limit", "2", "--json")
    let notice = try #require(first.errors.split(separator: "\n").last)
    #expect(notice.hasPrefix("coffer: 2 of 3 invites; continue with --after "))
    let after = String(try #require(notice.split(separator: " ").last))
    #expect(first.out.hasSuffix(#","next":"\#(after)"}"# + "\n"))
    let second = try coffer("invite", "list", "--limit", "2", "--after", after, "--json")
    #expect(second.errors == "" && second.out.hasSuffix(#","next":null}"# + "\n"))
    for id in ids { #expect(first.out.contains(id) != second.out.contains(id)) }
  }

  @Test(arguments: [
    ["create", "--uses", "0"], ["create", "--uses", "many"], ["create", "--days", "3651"],
    ["revoke", "none", "--reason", "over"],
  ])
  func `what is no number or no id is a wrong command line`(words: [String]) throws {
    #expect(try Finished(["invite"] + words, environment: environment).code == 64)
  }
}
