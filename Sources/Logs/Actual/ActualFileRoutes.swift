import Accounts
import Base
import HTTPMessages
import HTTPServer
import JSON
import Requests
import Storage

extension ActualDoor {
  /// Budgets: their list, their snapshots, names and keys.
  var fileRoutes: [Route] {
    [
      get("/sync/list-user-files") { _, caller, reader in
        Self.done(
          .array(
            try ActualFile.all(reader, of: caller.account).map { file in
              .object(
                file.members + [
                  .init("encryptKeyId", file.key.map { .string($0.id) } ?? .null),
                  .init("owner", .string(file.owner.description)), file.users,
                ])
            }))
      },
      get("/sync/get-user-file-info") { head, caller, reader in
        let file = try ActualFile.require(
          reader, head.headers.text("x-actual-file-id"), of: caller.account,
          otherwise: .fileWithoutInfo)
        let meta = try? file.meta.map { try JSON.parse(Array($0.text.utf8)) }
        return Self.done(
          .object(
            file.members + [
              .init("encryptMeta", meta.flatMap { JSONValue($0) } ?? .null), file.users,
            ]))
      },
      downloadRoute,
      ask("/sync/user-get-key") { body, caller, reader in
        let file = try ActualFile.require(
          reader, body["fileId"].string, of: caller.account, otherwise: .fileNotFound)
        func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
        return Self.done([
          "id": text(file.key?.id), "salt": text(file.key?.salt), "test": text(file.key?.test),
        ])
      },
      change("/sync/user-create-key") { body, write, owners in
        let file = try Self.writable(body, write, owners, otherwise: .fileNotFound)
        func text(
          _ name: String, _ byteCountMax: Int, otherwise refusal: ActualRefusal
        ) throws(ActualRefusal) -> String {
          guard let text = body[name].string, 1...byteCountMax ~= text.utf8.count else {
            throw refusal
          }
          return text
        }
        try file.setKey(
          ActualFile.Key(
            id: text("keyId", ActualFile.keyByteCountMax, otherwise: .keyNotText),
            salt: text("keySalt", ActualFile.keyByteCountMax, otherwise: .saltNotText),
            test: text("testContent", ActualFile.testByteCountMax, otherwise: .testNotText)),
          write.transaction)
      },
      change("/sync/update-user-filename") { body, write, owners in
        let file = try Self.writable(body, write, owners, otherwise: .fileNotFound)
        guard let name = body["name"].string,
          1...ActualFile.nameByteCountMax ~= name.utf8.count
        else { throw ActualRefusal.nameNotText }
        try file.rename(name, write.transaction)
        _ = try owners.change(file.owner) { $0.nextSequence(for: .logs, file.log) }
        try owners.save(write.transaction, now: write.now)
      },
      // The epoch stays as it is until a client uploads the budget again.
      change("/sync/reset-user-file") { body, write, owners in
        try Self.writable(body, write, owners, otherwise: .fileUnknown).reset(write.transaction)
      },
      change("/sync/delete-user-file") { body, write, owners in
        guard let id = body["fileId"].string, !id.isEmpty else {
          throw ActualRefusal.fileToDeleteMissing
        }
        let file = try ActualFile.require(
          write.transaction, id, of: write.account, otherwise: .fileNotFound)
        _ = try write.delete(file.log, &owners)
      },
    ]
  }

  /// The file that a body names, of an account that may write.
  private static func writable(
    _ body: JSON, _ write: LogWrite, _ owners: LockedOwners, otherwise refusal: ActualRefusal
  ) throws -> ActualFile {
    let file = try ActualFile.require(
      write.transaction, body["fileId"].string, of: write.account, otherwise: refusal)
    try owners.requireWritable([file.owner], by: write.account, write.transaction)
    return file
  }

  /// The snapshot, through this server: a client would send its token along to another host.
  private var downloadRoute: Route {
    route("GET", "/sync/download-user-file") { head in
      let credentials = try credentials(head)
      return .ready(
        Admission(body: .none) { _ in
          try read(credentials) { caller, reader in
            guard let id = head.headers.text("x-actual-file-id") else {
              throw ActualRefusal.fileNotSingle
            }
            let file = try ActualFile.require(
              reader, id, of: caller.account, otherwise: .fileUnknown)
            guard
              let snapshot = try MessageLog.find(reader, file.log, for: file.owner).snapshot
            else { throw ActualRefusal.fileUnknown }
            return (file: file.file, content: snapshot.content(of: file.owner))
          }
          .then { (found: (file: String, content: StoredContent)) throws -> Step<Response> in
            .pending { done in
              let accepted = host.pool.submit(for: found.content.owner) {
                done(
                  Result {
                    try download(found.content, of: found.file, for: head, credentials)
                  })
              }
              if !accepted { done(.failure(DatabaseError.busy(retryAfterSeconds: 1))) }
            }
          }
        })
    }
  }

  private func download(
    _ content: StoredContent, of file: String, for head: RequestHead, _ credentials: Credentials
  ) throws -> Response {
    var (response, byteCount) = try Download(
      content, host.objects, pool: host.pool, givesLinks: false
    ).response(to: head)
    response.headers.append(("Content-Disposition", "attachment;filename=\(file)"))
    if byteCount > 0 {
      credentials.meter.charge(Price.content(byteCount), for: .content)
      host.transfers.sent(byteCount, of: content.owner)
    }
    return response
  }
}
