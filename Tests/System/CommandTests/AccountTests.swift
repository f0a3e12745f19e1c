import TestEngines
import TestFiles
import Testing

struct AccountTests: CommandSuite {
  private let scratch: ScratchDirectory
  let environment: [String: String]

  init() throws {
    scratch = try ScratchDirectory()
    environment = ["COFFER_DATABASE": "sqlite://\(scratch.path)/database"]
    #expect(try coffer("migrate").code == 0)
  }

  private var keyFile: String { scratch.path + "/device.key" }

  @Test func `a fresh key is written for its owner only`() throws {
    let created = try coffer("account", "create", "--key-file", keyFile)
    #expect(created.code == 0)
    #expect(Files.permissions(keyFile) == 0o600)
    #expect(Files.text(keyFile)?.utf8.count == 45)
  }

  @Test func `an existing key file is refused and left as it is`() throws {
    try Files.write("precious\n", to: keyFile)
    let created = try coffer("account", "create", "--key-file", keyFile)
    #expect(created.code == 1)
    #expect(created.errors.contains("it exists and will not be overwritten"))
    #expect(Files.text(keyFile) == "precious\n")
    #expect(try coffer("account", "list", "--json").out == #"{"accounts":[],"next":null}"# + "\n")
  }

  @Test func `an account is found by its id and by its name in any case`() throws {
    let id = "0b5c0a2e-0000-4000-8000-000000000001"
    _ = try coffer("account", "create", "--id", id, "--username", "Ada", "--key-file", keyFile)
    let byID = try coffer("account", "show", id, "--json")
    let byName = try coffer("account", "show", "aDA", "--json")
    #expect(byID.code == 0)
    #expect(byID.out == byName.out)
    #expect(byID.out.contains("\"account\":\"\(id)\""))
    #expect(byID.out.contains("\"username\":\"Ada\""))
    #expect(byID.out.contains("\"reason\":\"never_subscribed\""))
  }

  @Test func `an account is found by the beginning of its id, and as a table shows it`() throws {
    let ids = ["0b5c0a2e-0000-4000-8000-000000000001", "0b5c0a2e-0000-4000-8000-00000000abcd"]
    for (index, id) in ids.enumerated() {
      let created = try coffer("account", "create", "--id", id, "--key-file", keyFile + "\(index)")
      #expect(created.code == 0, "\(created.errors)")
    }
    for text in ["0b5c0a2e…0001", "0B5C0A2E-0000-4000-8000-00000000000"] {
      let shown = try coffer("account", "show", text, "--json")
      #expect(shown.out.contains(ids[0]), "\(shown.errors)")
    }
    let both = try coffer("account", "show", "0b5c0a")
    #expect(both.code == 1)
    #expect(
      both.errors == "coffer: 0b5c0a stands for more than one account: name one of "
        + ids.joined(separator: ", ") + "\n")
    #expect(try coffer("account", "show", "0b5c0a2e…9").code == 1)
    #expect(try coffer("account", "show", "0b5c0").code == 1)
  }

  @Test func `a username that is the beginning of another account's id names neither`() throws {
    let id = "0b5c0a2e-0000-4000-8000-000000000001"
    _ = try coffer("account", "create", "--id", id, "--key-file", keyFile)
    _ = try coffer("account", "create", "--username", "0b5c0a2e", "--key-file", keyFile + "2")
    let shown = try coffer("account", "show", "0b5c0a2e")
    #expect(shown.code == 1)
    #expect(shown.errors.contains("stands for more than one account"))
    #expect(shown.errors.contains(id))
  }

  @Test func `the table of accounts shows what its JSON shows`() throws {
    _ = try coffer("account", "create", "--username", "ada", "--key-file", keyFile)
    let table = try coffer("account", "list").out.split(separator: "\n")
    #expect(table.count == 2)
    #expect(
      table.first?.split(separator: " ")
        == ["ACCOUNT", "USERNAME", "USED", "CAP", "PLAN", "REASON", "STATE", "CREATED"])
    let row = try #require(table.last).split(separator: " ")
    #expect(row.dropFirst().prefix(7) == ["ada", "1", "kB", "1", "MB", "free", "never_subscribed"])
  }

  @Test func `accounts over their cap are listed, the furthest over first`() throws {
    for (name, quota) in [("ada", "200B"), ("bob", "400B"), ("eve", "5kB")] {
      _ = try coffer(
        "account", "create", "--username", name, "--key-file", "\(scratch.path)/\(name).key")
      let set = try coffer(
        "quota", "set", name, quota, "--reason", "for a test", "--yes")
      #expect(set.code == 0, "\(set.errors)")
    }
    let first = try coffer("account", "list", "--sort", "over-cap", "--limit", "1")
    #expect(first.out.split(separator: "\n").count == 2)
    #expect(first.out.contains("  ada  "))
    #expect(first.out.contains("  OVER  "))
    #expect(first.errors.hasPrefix("coffer: 1 of 2 accounts; continue with --after "))
    let next = try coffer("account", "list", "--sort", "over-cap", "--after", "ada", "--json").out
    #expect(next.contains("\"username\":\"bob\""))
    #expect(next.contains("\"over_cap\":600"))
    #expect(next.contains("eve") == false)
    let none = try coffer("account", "list", "--plan", "gold")
    #expect(none.code == 1)
    #expect(none.errors == "coffer: there is no plan gold; coffer plan list shows the plans\n")
  }

  @Test func `an account that writes nothing is marked, with why`() throws {
    _ = try coffer("account", "create", "--username", "ada", "--key-file", keyFile)
    #expect(try coffer("account", "suspend", "ada", "--reason", "n", "--yes").code == 0)
    #expect(try coffer("account", "list").out.contains("never_subscribed  suspended  "))
    #expect(try coffer("account", "delete", "ada", "--reason", "n", "--yes").code == 0)
    #expect(try coffer("account", "list").out.contains("  suspended, waiting  "))
    #expect(try coffer("account", "list", "--json").out.contains("\"deletion\":\"waiting\""))
    let usage = try coffer("usage", "show", "ada")
    #expect(usage.out.contains("\nsuspended  20") && usage.out.contains("\ndeletion   waiting, "))
    let json = try coffer("usage", "show", "ada", "--json").out
    #expect(json.contains("\"suspended\":\"20") && json.contains("\"deletion\":\"waiting\""))
  }

  @Test func `an account that was refused leaves no key file in the way of the next try`() throws {
    _ = try coffer("account", "create", "--username", "ada", "--key-file", keyFile)
    let second = keyFile + "2"
    let refused = try coffer("account", "create", "--username", "ada", "--key-file", second)
    #expect(refused.code == 1)
    #expect(try coffer("account", "create", "--username", "bob", "--key-file", second).code == 0)
  }

  @Test(arguments: [["account", "list"], ["account", "list", "--json"]])
  func `a list that ends before the accounts do says how to go on`(words: [String]) throws {
    for name in ["ada", "bob", "cleo"] {
      _ = try coffer("account", "create", "--username", name, "--key-file", keyFile + name)
    }
    let first = try Finished(words + ["--limit", "2"], environment: environment)
    let notice = try #require(first.errors.split(separator: "\n").last)
    #expect(notice.hasPrefix("coffer: 2 of 3 accounts; continue with --after "))
    let after = String(try #require(notice.split(separator: " ").last))
    let second = try Finished(
      words + ["--limit", "2", "--after", after], environment: environment)
    #expect(second.out.contains("cleo"))
    #expect(!second.out.contains("bob"))
    #expect(second.errors == "")
  }

  @Test func `a username is given once`() throws {
    _ = try coffer("account", "create", "--username", "ada", "--key-file", keyFile)
    let second = try coffer(
      "account", "create", "--username", "ADA", "--key-file", keyFile + "2")
    #expect(second.code == 1)
    #expect(second.errors.hasSuffix("coffer: Another account has this username.\n"))
  }

  @Test func `a key is registered once`() throws {
    let key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    #expect(try coffer("account", "create", "--public-key", key).code == 0)
    let second = try coffer("account", "create", "--public-key", key)
    #expect(second.code == 1)
    #expect(second.errors.hasSuffix("coffer: An account has registered this key.\n"))
  }

  @Test(arguments: [
    ("bob", "there is no account with the username bob"),
    ("b b", "b b is neither an account's id nor a username"),
    (
      "sub_1BVsOVLk4QzTmRvX",
      "there is no account with the username sub_1BVsOVLk4QzTmRvX; "
        + "if it is a number of a store, see coffer find sub_1BVsOVLk4QzTmRvX"
    ),
    (
      "GPA.3392-6618-3561-99731..0 or so",
      "GPA.3392-6618-3561-99731..0 or so is neither an account's id nor a username; "
        + "if it is a number of a store, see coffer find GPA.3392-6618-3561-99731..0 or so"
    ),
    (
      "0b5c0a2e-0000-4000-8000-000000000002",
      "there is no account 0b5c0a2e-0000-4000-8000-000000000002"
    ),
  ])
  func `an account that is not there is code 1`(name: String, complaint: String) throws {
    let shown = try coffer("account", "show", name)
    #expect(shown.code == 1)
    #expect(shown.errors.hasSuffix("coffer: \(complaint)\n"))
  }

  @Test(arguments: [
    ["account", "list"], ["account", "create", "--key-file", "/nowhere/key"], ["jobs", "list"],
    ["usage", "recount", "--all"], ["entitlement", "explain", "ada"],
    ["jobs", "retry", "read"], ["invite", "create"], ["audit", "list"], ["audit", "verify"],
    ["subscription", "read", "sub_1"], ["event", "show", "evt_1"],
    ["entitlement", "grant", "ada", "--plan", "premium", "--reason", "n", "--yes"],
  ])
  func `no command but migrate makes a database where a path is mistyped`(
    words: [String]
  ) throws {
    let mistyped = scratch.path + "/databsae"
    let finished = try Finished(words, environment: ["COFFER_DATABASE": "sqlite://\(mistyped)"])
    #expect(finished.code == 78)
    #expect(
      finished.errors
        == "coffer: no Coffer database is in \(mistyped); coffer migrate makes one\n")
    #expect(Files.permissions(mistyped) == nil)
  }

  @Test func `a release of an account that never was is refused`() throws {
    let nobody = "0b5c0a2e-0000-4000-8000-000000000003"
    let released = try coffer(
      "subscription", "release", nobody, "--reason", "gone", "--yes")
    #expect(released.code == 1)
    #expect(released.errors == "coffer: \(nobody) never owned or was granted anything\n")
  }

  @Test func `the configuration may be named before the command`() throws {
    let path = try scratch.write(
      "COFFER_DATABASE=sqlite://\(scratch.path)/database\n", to: "coffer.env")
    let before = try Finished(["--config", path, "--json", "account", "list"])
    #expect(before.code == 0)
    #expect(before.out == #"{"accounts":[],"next":null}"# + "\n")
    let twice = try Finished(["--config", path, "account", "list", "--config", path])
    #expect(twice.code == 64)
    #expect(twice.errors == "coffer: --config is given twice\n")
  }

  @Test func `a second migration finds nothing to do`() throws {
    let second = try coffer("migrate")
    #expect(second.code == 0)
    #expect(second.errors == "")
  }

  @Test func `a database nobody serves is code 69`() throws {
    let finished = try Finished(
      ["migrate"], environment: ["COFFER_DATABASE": "postgres://127.0.0.1:1/coffer"])
    #expect(finished.code == 69)
    #expect(finished.errors.split(separator: "\n").count == 1)
  }
}
