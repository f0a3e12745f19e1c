internal import Base
internal import Endpoints
internal import HTTPMessages
internal import HTTPServer
internal import HTTPSignatures
internal import JSON
internal import Storage

/// Files, their content, and what changed.
extension SyncAPI {
  /// `POST /v1/files`: changes of files and shares, all of them or none.
  ///
  /// It is judged by a snapshot, so that one that is refused has locked nobody. Its cost is bounded by
  /// `WorkBudget`.
  var changeFiles: Route {
    Endpoint<Request, (Request, Batch), (Outcome, Request)>(
      "POST", "/v1/files", bodyByteCountMax: Batch.bodyByteCountMax,
      admit: { head, captures in try Request(head, captures, self) },
      inquire: { request in inquiry(request.credentials) },
      prepare: { request, body in
        let body = try request.checked(body)
        // Before the signatures are checked, as they are also of a batch that is refused for one.
        request.credentials.meter.charge(Price.json(body.count), for: .json)
        return (request, try Batch(body, counting: signatures))
      },
      work: .decidedWrite(share: { $0.credentials.share }) { reader, input in
        let (request, batch) = input
        let meter = request.credentials.meter
        let execution = BatchExecution(
          request.credentials, batch, catalogue: catalogue, limits: limits)
        // What refuses it has cost as much as what does not.
        defer { meter.charge(Price.rows(reader.work.rowCount), for: .reading) }
        switch try execution.decide(reader, now: clock.now()) {
        case .recorded(let outcome): return .done((outcome, request))
        case .planned(let plan):
          return .write { transaction in
            defer { meter.charge(Price.rows(transaction.work.rowCount), for: .writing) }
            return (try execution.perform(transaction, plan, now: clock.now()), request)
          }
        }
      },
      respond: { outcome, _ in outcome.response }
    ).route(on: database)
  }

  /// `GET /v1/files/{id}`: what the server knows of one file.
  var readFile: Route {
    read("/v1/files/{id}") { reader, request, now in
      let caller = try Caller(reader, request.credentials, now: now)
      var tree = AncestorTree(seenBy: caller.account)
      let file = try tree.file(request.identifier(0), reader)
      return file.json(shares: try Share.of(file, visibleTo: caller.account, reader))
    } respond: { record, _ in
      .json(200, record)
    }
  }

  /// `GET /v1/updates?since=<cursor>&limit=<n>`: what changed since the cursor.
  var readUpdates: Route {
    read("/v1/updates", isLong: true) { reader, request, now in
      let question = try Updates.Question(request.credentials, query: request.head.query)
      return try Updates.page(reader, question, limits: limits, now: now)
    } respond: { page, _ in
      Response(
        status: 200, headers: [("Content-Type", "application/json")], body: .bytes(page.encoded()))
    }
  }

  /// `PUT /v1/files/{id}/content`: replaces a document's content, if it is at the version that
  /// If-Match names. Small content travels in memory, large content through an object.
  var writeContent: Route {
    let small = writeInline
    let large = writeObject
    return Route("PUT", "/v1/files/{id}/content") { head, captures in
      // Without a length the server refuses the body itself (411), so either path will do.
      let isSmall = (head.contentLength ?? 0) <= Int64(Contents.inlineByteCountMax)
      return isSmall
        ? try small.admission(head, captures, on: database)
        : try large.admission(head, captures, on: database, pool: pool, later: later)
    }
  }

  private var writeInline:
    Endpoint<Request, (Request, (Contents.Write, [UInt8])), (Contents.Replaced, Request)>
  {
    write(
      "PUT", "/v1/files/{id}/content", bodyByteCountMax: Contents.inlineByteCountMax
    ) { request, body in
      (try Self.contentWrite(request), body)
    } transact: { transaction, _, input, now in
      try Contents.replace(
        transaction, input.0, with: .inline(input.1), catalogue: catalogue, now: now)
    } finish: { replaced, _ in
      count(replaced)
    }
  }

  private var writeObject:
    Upload<ContentUpload.Asked, ContentUpload.Decision, ContentUpload.Attempt, Contents.Replaced>
  {
    Upload(
      byteCountMax: Self.contentByteCountMax,
      admit: { head, captures in
        let request = try Request(head, captures, self)
        return ContentUpload.Asked(
          write: try Self.contentWrite(request), byteCount: head.contentLength ?? 0,
          attempt: ContentUpload.Attempt(digest: request.digest, uploads))
      },
      inquire: { inquiry($0.write.credentials) },
      share: { $0.write.credentials.share },
      reserve: { transaction, asked, isLast in
        try Reservations.reserve(
          transaction, asked, catalogue: catalogue, isLast: isLast, isMoving: isMoving,
          instance: objects.instance, now: clock.now())
      },
      receive: { decision in
        let attempt = decision.asked.attempt
        switch decision {
        case .receive(_, let superseded):
          if let superseded { uploads.attempt(superseded)?.supersede() }
          try attempt.open(in: objects)
        case .repeated: attempt.drop()
        }
        return attempt
      },
      settle: { decision, attempt in
        if case .receive(let asked, _) = decision {
          asked.write.credentials.meter.charge(Price.content(asked.byteCount), for: .content)
        }
        try attempt.settle()
      },
      transact: { transaction, decision in
        switch decision {
        case .receive(let asked, _):
          try Contents.replace(
            transaction, asked.write,
            with: .object(asked.attempt.object, byteCount: asked.byteCount),
            catalogue: catalogue, now: clock.now())
        case .repeated(_, let outcome):
          Contents.Replaced(outcome: outcome, owner: nil, byteCount: 0)
        }
      },
      release: { transaction, decision in
        guard case .receive(let asked, _) = decision else { return }
        try Reservations.abandon(
          transaction, asked.attempt.object, of: asked.write.file, byteCount: asked.byteCount)
      },
      respond: { replaced in count(replaced).response })
  }

  /// Whether an upload gets on. Of another process's only that it runs is known.
  private func isMoving(_ object: Identifier, _ instance: Identifier?) -> Bool {
    guard let instance, instance != objects.instance else {
      return uploads.attempt(object)?.isMoving ?? false
    }
    return objects.isRunning(instance)
  }

  /// Once the write is durable: a transaction may run more than once.
  private func count(_ replaced: Contents.Replaced) -> Outcome {
    if let owner = replaced.owner { transfers.received(replaced.byteCount, of: owner) }
    return replaced.outcome
  }

  private static func contentWrite(_ request: Request) throws -> Contents.Write {
    try Contents.Write(
      request.credentials, request.identifier(0), request.head.headers, digest: request.digest)
  }

  /// `GET /v1/files/{id}/content`: the content, whole or a range, under its version as entity tag.
  var readContent: Route {
    read("/v1/files/{id}/content", isLong: true) { reader, request, now in
      try Contents.find(reader, request.credentials, request.identifier(0), now: now)
    } respond: { found, request in
      let response = try Download(found, objects).response(to: request.head)
      if request.head.method != "HEAD" {
        request.credentials.meter.charge(Price.content(response.body.byteCount), for: .content)
        transfers.sent(response.body.byteCount, of: found.owner)
      }
      return response
    }
  }
}
