import Accounts
import Base
import Endpoints
import HTTPMessages
import HTTPServer
import Requests
import Storage

extension ActualDoor {
  /// `POST /sync/sync`: appends a client's messages, and sends those that it lacks, with the trie to compare with.
  var syncRoute: Route {
    route("POST", "/sync/sync") { head in
      let credentials = try credentials(head)
      return try host.database.step(after: host.gate.inquiry(credentials)) {
        .ready(
          Admission(body: .memory(byteCountMax: ActualSync.bodyByteCountMax)) { bytes in
            credentials.meter.charge(Price.json(bytes.count), for: .json)
            return try begin(bytes, credentials).then {
              (begun: (sync: ActualSync, answer: ActualAnswer?)) throws -> Step<Response> in
              if let answer = begun.answer { return .ready(respond(answer, credentials)) }
              return try append(begun.sync, credentials).then {
                (appended: Progress) throws -> Step<ActualAnswer> in
                read(credentials) { _, reader in
                  try ActualAnswer(
                    reader, appended.log, since: begun.sync.since, head: appended.head,
                    trie: appended.trie)
                }
              }.then { (answer: ActualAnswer) throws -> Step<Response> in
                .ready(respond(answer, credentials))
              }
            }
          })
      }
    }
  }

  /// Checks a request without any lock. One that only asks is answered from the same snapshot, so it writes nothing.
  private func begin(
    _ body: [UInt8], _ credentials: Credentials
  ) -> Step<(sync: ActualSync, answer: ActualAnswer?)> {
    read(credentials) { caller, reader in
      let sync = try ActualSync(body)
      let file = try file(sync, of: caller.account, reader)
      let latest = host.clock.now() + LogWrite.timestampAheadMax
      if let ahead = sync.latest, ahead.instant > latest { throw ActualRefusal.clockDrift }
      guard sync.messageCount == 0 else { return (sync, nil) }
      let log = try MessageLog.find(reader, file.log, for: caller.account)
      var trie = LogTrie.open(log.epoch, reader)
      return (
        sync,
        try ActualAnswer(
          reader, log, since: sync.since, head: log.messageCount, trie: trie.pruned())
      )
    }
  }

  private func file(
    _ sync: ActualSync, of account: Identifier, _ queryable: some Queryable
  ) throws -> ActualFile {
    let file = try ActualFile.require(
      queryable, sync.file, of: account, otherwise: .fileNotFound)
    try file.require(sync)
    return file
  }

  /// How far the messages of a request are appended.
  private struct Progress: Sendable {
    var place = 0
    /// The log before the first of them.
    let log: MessageLog
    /// The number of its latest message then: a client gets nothing back that it just sent.
    var head: Int64 { log.messageCount }
    var trie: [UInt8] = []
    /// What the latest transaction appended.
    var appended: Appended?
  }

  /// Appends the messages, as many in a transaction as a native request has. If one of them is refused, those before it
  /// stay: a client sends all of them again, and messages that are there are not stored again.
  private func append(
    _ sync: ActualSync, after progress: Progress? = nil, _ credentials: Credentials
  ) -> Step<Progress> {
    .pending { done in
      host.database.submitWrite(
        for: credentials.lane,
        { transaction in
          try write(credentials, transaction) { write, owners in
            let file = try file(sync, of: write.account, transaction)
            let log = try MessageLog.find(transaction, file.log, for: write.account)
            var next = progress ?? Progress(log: log)
            let messages = try sync.messages(from: &next.place)
            next.appended = try write.append(
              LogBatch(epoch: log.epoch, messages: messages), to: log.id, &owners)
            if next.place == sync.messageCount {
              var trie = LogTrie.open(log.epoch, transaction)
              next.trie = try trie.pruned()
            }
            return next
          }
        }
      ) { result in
        guard case .success(let next) = result else { return done(result) }
        if let appended = next.appended {
          LogMetrics.appendedByActual.add(Int64(appended.addedCount))
          host.transfers.received(appended.addedByteCount, of: appended.owner)
        }
        guard next.place < sync.messageCount else { return done(result) }
        guard case .pending(let start) = append(sync, after: next, credentials) else { return }
        start(done)
      }
    }
  }

  private func respond(_ answer: ActualAnswer, _ credentials: Credentials) -> Response {
    credentials.meter.charge(Price.content(answer.byteCount), for: .content)
    host.transfers.sent(answer.byteCount, of: answer.owner)
    return Response(
      status: 200,
      headers: [
        ("Content-Type", "application/actual-sync"), ("X-ACTUAL-SYNC-METHOD", "simple"),
      ], body: answer.body(from: host.database))
  }
}
