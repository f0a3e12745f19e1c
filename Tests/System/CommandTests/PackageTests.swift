import TestEngines
import TestFiles
import Testing

/// How the package's scripts treat files that are not the package's. ops/package-test installs the package
/// itself.
struct PackageTests {
  private let scratch: ScratchDirectory
  private let ours = """
    #COFFER_DATABASE=sqlite:///var/lib/example
    COFFER_DATABASE=sqlite:///var/lib/coffer
    COFFER_OBJECTS=file:///var/lib/coffer/objects

    """

  init() throws {
    scratch = try ScratchDirectory()
    for folder in ["etc", "etc/coffer", "var", "var/lib", "var/lib/coffer"] {
      try Files.createFolder("\(scratch.path)/\(folder)")
    }
    _ = try scratch.write("a key", to: "etc/coffer/SubscriptionKey_1.p8")
  }

  private func purge() throws -> Finished {
    try Finished(
      path: "/bin/sh", [Files.repository + "/ops/package.d/postrm", "purge"],
      environment: ["DPKG_ROOT": scratch.path, "PATH": "/usr/bin:/bin"])
  }

  private var names: [String] { Files.names(in: scratch.path + "/etc/coffer").sorted() }

  @Test func `purging takes the settings along where all that they open is gone`() throws {
    _ = try scratch.write(ours, to: "etc/coffer/coffer.env")
    _ = try scratch.write("", to: "var/lib/coffer/coffer.lock")
    #expect(try purge().code == 0)
    #expect(Files.permissions(scratch.path + "/etc/coffer") == nil)
    #expect(Files.permissions(scratch.path + "/var/lib/coffer") == nil)
  }

  @Test(arguments: ["sync.db", "2026-11-01T00-00-00Z"])
  func `purging keeps every key while something is left of the data`(name: String) throws {
    _ = try scratch.write(ours, to: "etc/coffer/coffer.env")
    _ = try scratch.write("rows", to: "var/lib/coffer/\(name)")
    let purged = try purge()
    #expect(purged.code == 0 && purged.errors.contains("/etc/coffer is kept"))
    #expect(names == ["SubscriptionKey_1.p8", "coffer.env"])
    #expect(Files.text(scratch.path + "/var/lib/coffer/\(name)") == "rows")
  }

  @Test(arguments: [
    ("sqlite:///var/lib/coffer", "postgres://db/coffer"),
    ("file:///var/lib/coffer/objects", "file:///srv/objects"),
    ("file:///var/lib/coffer/objects", "file:///var/lib/coffer/../../srv/objects"),
    ("sqlite:///var/lib/coffer", "sqlite:///var/lib/coffer-2"),
  ])
  func `purging keeps every key where the data lies elsewhere`(
    place: String, other: String
  ) throws {
    _ = try scratch.write(
      ours.replacing("=\(place)\n", with: "=\(other)\n"), to: "etc/coffer/coffer.env")
    let purged = try purge()
    #expect(purged.code == 0 && purged.errors.contains("/etc/coffer is kept"))
    #expect(names == ["SubscriptionKey_1.p8", "coffer.env"])
  }
}
