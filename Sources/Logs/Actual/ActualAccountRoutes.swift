import Accounts
import Base
import Configuration
import Endpoints
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

extension ActualDoor {
  private static let loginMethods: JSONValue = [
    ["method": "password", "active": 1, "displayName": "Password"]
  ]

  /// Log-in, and what clients ask about the server. Accounts are opened elsewhere.
  var accountRoutes: [Route] {
    [
      fixed(
        "/account/needs-bootstrap",
        Self.json(
          Self.done([
            "bootstrapped": true, "loginMethod": "password",
            "availableLoginMethods": Self.loginMethods, "multiuser": false,
          ]))),
      fixed(
        "/account/login-methods", Self.json(["status": "ok", "methods": Self.loginMethods])),
      fixed(
        "/info",
        Self.json([
          "build": [
            "name": "coffer-sync", "description": "Coffer", "version": .string(Version.text),
          ]
        ])),
      fixed("/health", Self.json(["status": "UP"])),
      fixed("/mode", Self.text("text/html", "production")),
      post("/account/bootstrap") { head, _ in
        throw (head.contentLength ?? 0) == 0
          ? ActualRefusal.loginSettingsMissing : ActualRefusal.alreadyBootstrapped
      },
      post("/account/login") { head, body in
        try logIn(body["password"].string ?? "", head)
      },
      // The old password is not sent, so anyone with a token could lock the owner out.
      ask("/account/change-password") { _, _, _ in throw ActualRefusal.passwordFixed },
      get("/account/validate") { _, caller, _ in
        Self.done([
          "validated": true, "userName": "", "permission": "BASIC",
          "userId": .string(caller.account.description), "displayName": "",
          "loginMethod": "password", "prefs": .object([]),
        ])
      },
    ]
  }

  /// Looks the password up without a write, because anyone may try. A right one counts as a request of its account.
  private func logIn(_ text: String, _ head: RequestHead) throws -> Step<Response> {
    let password = AppPasswordText(text)
    let address = head.remoteAddress
    guard !host.failedLogins.areTooMany(of: password?.id, from: address) else {
      throw ActualRefusal.tooManyTries
    }
    guard let password else {
      host.failedLogins.note(nil, from: address)
      throw ActualRefusal.passwordInvalid
    }
    let meter = host.gate.meter(Credentials.hash(token: Array(text.utf8)), head)
    return .pending { done in
      host.database.submitRead(
        for: nil, { reader in try AppPassword.account(reader, of: password) }
      ) { result in
        switch result {
        case .failure(let error): done(.failure(error))
        case .success(nil):
          host.failedLogins.note(password.id, from: address)
          done(.failure(ActualRefusal.passwordInvalid))
        case .success(let account?):
          do { try meter.confirm(account) } catch { return done(.failure(error)) }
          host.database.submitWrite(
            for: account,
            { transaction in
              try AppPassword.logIn(transaction, password, now: host.clock.now())
            }
          ) { result in
            done(
              result.flatMap { token in
                Result {
                  guard let token else { throw ActualRefusal.passwordInvalid }
                  let text = String(decoding: token.exposed, as: UTF8.self)
                  return Self.json(Self.done(["token": .string(text)]))
                }
              })
          }
        }
      }
    }
  }
}
