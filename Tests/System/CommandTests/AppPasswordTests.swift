import TestEngines
import Testing

/// Passwords of apps, as an operator makes and revokes them.
struct AppPasswordTests: CommandSuite {
  let environment: [String: String]
  private let scratch: ScratchDirectory

  init() throws {
    scratch = try ScratchDirectory()
    environment = [
      "COFFER_DATABASE": "sqlite://\(scratch.path)/database",
      "COFFER_OBJECTS": "file://\(scratch.path)/objects",
    ]
    try createAccounts(
      [
        "ada": "11111111-1111-4111-8111-111111111111",
        "bob": "22222222-2222-4222-8222-222222222222",
      ], in: scratch)
  }

  /// The value in the line that begins with the name.
  private func value(_ name: String, of text: String) throws -> String {
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name) })
    return String(try #require(line.split(separator: " ").last))
  }

  @Test func `a password is shown once, and listed until it is revoked`() throws {
    let made = try coffer("app-password", "create", "ada", "--label", "laptop")
    #expect(made.code == 0)
    let id = try value("app password", of: made.out)
    let password = try value("password", of: made.out)
    #expect(password.hasPrefix("cap-\(id)-"))
    #expect(password.utf8.count == 41)
    let listed = try coffer("app-password", "list", "ada", "--json").out
    #expect(listed.contains("\"app_password\":\"\(id)\",\"label\":\"laptop\""))
    #expect(listed.contains("\"used\":null"))
    #expect(!listed.contains(password))
    #expect(try coffer("find", id).out.contains("ada  "))
    #expect(try coffer("find", id).out.contains("the id of its app password"))
    #expect(try coffer("account", "show", "ada").out.contains("apps       1 app passwords\n"))
    #expect(!(try coffer("audit", "list", "--json").out).contains(password))
    let shown = try coffer("app-password", "revoke", "ada", id, "--reason", "lost")
    #expect(shown.code == 3)
    #expect(
      try coffer("app-password", "revoke", "ada", id, "--reason", "lost", "--yes").code == 0)
    #expect(!(try coffer("app-password", "list", "ada", "--json").out).contains(id))
    let again = try coffer("app-password", "revoke", "ada", id, "--reason", "lost", "--yes")
    #expect(again.code == 1)
    #expect(again.errors.contains("has no such app password"))
  }

  @Test func `another account's password is not revoked`() throws {
    let id = try value("app password", of: coffer("app-password", "create", "ada").out)
    let refused = try coffer("app-password", "revoke", "bob", id, "--reason", "over", "--yes")
    #expect(refused.code == 1)
    #expect(try coffer("app-password", "list", "ada", "--json").out.contains(id))
  }

  @Test func `an account has at most 20 passwords`() throws {
    for _ in 0..<20 { #expect(try coffer("app-password", "create", "ada").code == 0) }
    let refused = try coffer("app-password", "create", "ada")
    #expect(refused.code == 1)
    #expect(refused.errors.contains("at most 20 app passwords"))
  }
}
