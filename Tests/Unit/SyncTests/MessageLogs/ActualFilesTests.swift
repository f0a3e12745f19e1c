import Base
import Endpoints
import Glibc
import RawClient
import TestDevices
import TestEngines
import TestFiles
import Testing

/// Actual's web app and tables, from a directory of the operator's.
@Suite struct ActualFilesTests {
  private static let required = ["index.html", "data-file-index.txt"]

  /// A directory like that of the web app's package.
  private static func directory(_ more: [String: String] = [:]) throws -> ScratchDirectory {
    let directory = try ScratchDirectory()
    let files = [
      "index.html": "<title>Actual</title>", "static/js/app.js": "start()", "empty.css": "",
      "sql-wasm.wasm": "\0asm", "data-file-index.txt": "default-db.sqlite\nmigrations/1_a.sql",
      "data/default-db.sqlite": "SQLite", "data/migrations/1_a.sql": "CREATE TABLE a (id);",
      "static/a b.png": "png",
    ].merging(more) { $1 }
    for (name, text) in files { _ = try directory.write(text, to: name) }
    return directory
  }

  /// A server with the files of a directory, and a client of it.
  private struct Scene {
    let server: TestServer
    let client: ActualClient

    init(_ directory: ScratchDirectory) throws {
      server = try TestServer(
        actualAuthorities: [ActualClient.host],
        actualFiles: PublicFiles(directory: directory.path, requiring: ActualFilesTests.required))
      client = ActualClient(stranger: server.device())
    }
  }

  /// Why a directory is refused.
  private static func refusal(of path: String) -> String? {
    do throws(OpenFolder.Refusal) {
      _ = try PublicFiles(directory: path, requiring: required)
      return nil
    } catch { return error.text }
  }

  @Test(arguments: [
    ("/", "<title>Actual</title>", "text/html; charset=utf-8"),
    ("/index.html", "<title>Actual</title>", "text/html; charset=utf-8"),
    ("/?a=b", "<title>Actual</title>", "text/html; charset=utf-8"),
    ("/static/js/app.js", "start()", "text/javascript; charset=utf-8"),
    ("/static/js/app.js?v=2", "start()", "text/javascript; charset=utf-8"),
    ("/static/a%20b.png", "png", "image/png"),
    ("/empty.css", "", "text/css; charset=utf-8"),
    ("/sql-wasm.wasm", "\0asm", "application/wasm"),
    (
      "/data-file-index.txt", "default-db.sqlite\nmigrations/1_a.sql", "text/plain; charset=utf-8"
    ),
    ("/data/default-db.sqlite", "SQLite", "application/octet-stream"),
    ("/data/migrations/1_a.sql", "CREATE TABLE a (id);", "application/octet-stream"),
  ])
  func `a file is served as what it is, by GET and by HEAD`(
    path: String, text: String, type: String
  ) throws {
    let directory = try Self.directory()
    let scene = try Scene(directory)
    let answer = try scene.client.send("GET", path)
    #expect(answer.status == 200)
    #expect(answer.text == text)
    #expect(answer.header("Content-Type") == type)
    #expect(answer.header("X-Content-Type-Options") == "nosniff")
    #expect(answer.header("Cross-Origin-Opener-Policy") == "same-origin")
    #expect(answer.header("Cross-Origin-Embedder-Policy") == "require-corp")
    let head = try scene.client.send("HEAD", path)
    #expect(head.status == 200)
    #expect(head.body.isEmpty)
    #expect(head.header("Content-Type") == type)
    #expect(head.header("Content-Length") == "\(text.utf8.count)")
  }

  @Test func `a file that the browser has is not sent again, until another is served`() throws {
    let directory = try Self.directory()
    // A package of npm gives the files of all its releases the same date.
    #expect(Files.age(directory.path + "/static/js/app.js"))
    let scene = try Scene(directory)
    let tag = try #require(try scene.client.send("GET", "/static/js/app.js").header("ETag"))
    let known = try scene.client.send("GET", "/static/js/app.js", [("If-None-Match", tag)])
    #expect(known.status == 304)
    #expect(known.body.isEmpty)
    #expect(known.header("Cross-Origin-Embedder-Policy") == "require-corp")
    let part = try scene.client.send("GET", "/static/js/app.js", [("Range", "bytes=0-4")])
    #expect(part.status == 206)
    #expect(part.text == "start")
    let path = try directory.write("stop( )", to: "static/js/app.js")
    #expect(Files.age(path))
    #expect(try scene.client.send("GET", "/static/js/app.js").text == "start()")
    let next = try Scene(directory)
    let fresh = try next.client.send("GET", "/static/js/app.js", [("If-None-Match", tag)])
    #expect(fresh.status == 200)
    #expect(fresh.text == "stop( )")
  }

  @Test func `a browser gets the app at its pages' paths, and a program gets no page for a file`()
    throws
  {
    let directory = try Self.directory()
    let scene = try Scene(directory)
    for path in ["/budget", "/accounts/4d8f", "/static/js/old.js", "/data"] {
      let page = try scene.client.send("GET", path, [("Accept", "text/html,*/*;q=0.8")])
      #expect(page.status == 200)
      #expect(page.text == "<title>Actual</title>")
      #expect(try scene.client.send("GET", path, [("Accept", "*/*")]).status == 404)
    }
    #expect(try scene.client.send("POST", "/budget").status == 404)
    #expect(try scene.client.send("POST", "/index.html").status == 404)
  }

  @Test(arguments: [
    "/../../../../etc/hostname", "/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/hostname", "/etc/hostname",
    "/static/js/../js/app.js", "/static/js/", "/static", "//index.html", "/.hidden", "/.git/config",
    "/data/default-db.sqlite%20",
  ])
  func `nothing else of the machine is served`(path: String) throws {
    let directory = try Self.directory([".hidden": "a", ".git/config": "b"])
    let scene = try Scene(directory)
    // As it is, which a library might tidy up.
    let client = try #require(RawClient(connectingTo: scene.server.port))
    let answer = client.exchange(
      "GET \(path) HTTP/1.1\r\nHost: \(ActualClient.host)\r\n\r\n")
    #expect(answer?.status == 404)
  }

  @Test func `the other hosts and the protocol's own routes are as without the files`() throws {
    let directory = try Self.directory()
    let scene = try Scene(directory)
    let without = try TestServer(actualAuthorities: [ActualClient.host])
    let other = ActualClient(stranger: without.device())
    let page = [("Accept", "text/html")]
    for path in ["/", "/index.html", "/data/default-db.sqlite", "/budget", "/v1/nowhere"] {
      #expect(try scene.client.send("GET", path, page, host: TestServer.authority).status == 404)
      #expect(try other.send("GET", path, page).status == 404)
    }
    for (method, path) in [
      ("GET", "/v1/accounts"), ("GET", "/account/login"), ("GET", "/sync/sync"),
      ("DELETE", "/nowhere"), ("GET", "/account/validate"), ("GET", "/info"), ("GET", "/mode"),
      ("GET", "/health"), ("GET", "/openapi.json"),
    ] {
      for host in [TestServer.authority, ActualClient.host] {
        let (answer, expected) = (
          try scene.client.send(method, path, page, host: host),
          try other.send(method, path, page, host: host)
        )
        #expect(answer.status == expected.status, "\(method) \(path) of \(host)")
        #expect(answer.header("Content-Type") == expected.header("Content-Type"))
      }
    }
    #expect(try other.send("GET", "/data-file-index.txt").text == "")
  }

  @Test func `a directory that is not the web app's is refused, and the reason is named`() throws {
    let directory = try Self.directory()
    #expect(Self.refusal(of: directory.path) == nil)
    #expect(
      Self.refusal(of: directory.path + "/none") == "cannot be read: No such file or directory")
    #expect(Self.refusal(of: directory.path + "/index.html") == "cannot be read: Not a directory")
    #expect(Self.refusal(of: directory.path + "/data") == "has no index.html")
    #expect(Files.remove(directory.path + "/data-file-index.txt"))
    #expect(Self.refusal(of: directory.path) == "has no data-file-index.txt")
  }

  @Test func `a symbolic link and a pipe are refused, and neither is followed`() throws {
    let linked = try Self.directory()
    try #require(Self.link("/etc/passwd", to: linked.path + "/data/passwd"))
    #expect(Self.refusal(of: linked.path) == "has data/passwd, which is a symbolic link")
    let folder = try Self.directory()
    try #require(Self.link("/etc", to: folder.path + "/etc"))
    #expect(Self.refusal(of: folder.path) == "has etc, which is a symbolic link")
    let pipe = try Self.directory()
    let code = unsafe mkfifo(pipe.path + "/pipe", 0o600)
    try #require(code == 0)
    #expect(Self.refusal(of: pipe.path) == "has pipe, which is neither a file nor a directory")
  }

  private static func link(_ target: String, to path: String) -> Bool {
    unsafe symlink(target, path) == 0
  }

  @Test func `a directory with more than a web app has is refused`() throws {
    let directory = try Self.directory()
    let path = directory.path
    // Eight files, and four directories.
    #expect(Self.refusal(of: path, entryCountMax: 12, byteCountMax: 1000) == nil)
    #expect(
      Self.refusal(of: path, entryCountMax: 11, byteCountMax: 1000)
        == "has more than 11 files and directories")
    #expect(
      Self.refusal(of: path, entryCountMax: 12, byteCountMax: 20) == "has more than 20 bytes")
  }

  private static func refusal(
    of path: String, entryCountMax: Int, byteCountMax: Int64
  ) -> String? {
    do throws(OpenFolder.Refusal) {
      _ = try OpenFolder(path, entryCountMax: entryCountMax, byteCountMax: byteCountMax)
      return nil
    } catch { return error.text }
  }
}
