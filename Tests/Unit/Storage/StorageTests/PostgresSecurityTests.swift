import Base
import Postgres
import Testing

/// Whether a server must prove its identity by default.
@Suite struct PostgresSecurityTests {
  private func mode(_ url: String, _ environment: [String: String] = [:]) -> String? {
    PostgresSecurity.mode(of: Secret(url)) { environment[$0] }
  }

  @Test(arguments: [
    "postgres://db.example/coffer", "postgres://ada:secret@db.example:5433/coffer",
    "postgresql://10.0.0.7/coffer", "postgres:///coffer?host=db.example",
    "postgres://localhost,db.example/coffer", "postgres://localhost/coffer?hostaddr=10.0.0.7",
    "postgres://127.0.0.1.evil.example/coffer", "postgres://127.evil/coffer",
    "postgres://[2001:db8::1]/coffer", "postgres:///coffer?service=far",
    "postgres://db.example/coffer?sslrootcert=/etc/ssl/certs/ca-certificates.crt",
  ])
  func `a server on another machine must prove that it is the one named`(url: String) {
    #expect(mode(url) == "verify-full")
  }

  @Test(arguments: [
    "postgres:///coffer", "postgres://localhost/coffer", "postgres://127.0.0.1:5433/coffer",
    "postgres://[::1]/coffer", "postgres:///coffer?host=/run/postgresql",
    "postgres:///coffer?host=%2Frun%2Fpostgresql", "postgres://localhost,127.0.0.1/coffer",
    "postgres://postgres@/postgres?host=/tmp/pg",
  ])
  func `a server on this machine need not`(url: String) {
    #expect(mode(url) == nil)
  }

  @Test(arguments: ["disable", "prefer", "require", "verify-ca", "verify-full"])
  func `whatever the URL says of it holds`(said: String) {
    #expect(mode("postgres://db.example/coffer?sslmode=\(said)") == nil)
    #expect(mode("postgres://db.example/coffer", ["PGSSLMODE": said]) == nil)
  }

  @Test func `the environment can name another machine, too`() {
    #expect(mode("postgres:///coffer", ["PGHOST": "db.example"]) == "verify-full")
    #expect(mode("postgres:///coffer", ["PGHOSTADDR": "10.0.0.7"]) == "verify-full")
    #expect(mode("postgres:///coffer", ["PGSERVICE": "far"]) == "verify-full")
    #expect(mode("postgres:///coffer", ["PGHOST": "/run/postgresql"]) == nil)
  }
}
