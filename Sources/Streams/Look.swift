package import Accounts
package import Base
import Crypto
import Requests
package import Storage
import Tiers

/// What entitles a stream: a key of the account, or a session.
package enum Credential: Hashable, Sendable {
  case key([UInt8])
  case session(tokenHash: [UInt8])

  init(_ proof: Credentials.Proof) {
    switch proof {
    // An app's token opens no stream. If it did, no session would have its hash.
    case .session(let tokenHash), .app(let tokenHash): self = .session(tokenHash: tokenHash)
    case .signed, .key: self = .key(proof.key)
    }
  }
}

/// What a look at the database says of an account, as far as its own clients are told of it.
package struct AccountState: Equatable, Sendable {
  /// Nil on the free plan.
  package let cap: Cap?
  package let deletion: Deletion?
  /// Whether an operator has suspended the account, or its erasure has begun.
  package let isShut: Bool

  package init(cap: Cap?, deletion: Deletion?, isShut: Bool) {
    self.cap = cap
    self.deletion = deletion
    self.isShut = isShut
  }

  package struct Cap: Equatable, Sendable {
    let byteCount: Int64
    let plan: String
    let reason: String

    package init(byteCount: Int64, plan: String, reason: String) {
      self.byteCount = byteCount
      self.plan = plan
      self.reason = reason
    }
  }

  package struct Deletion: Equatable, Sendable {
    let asked: Instant
    let erases: Instant?
  }

  /// The kinds of data that differ, by the names that clients are told.
  func differences(from before: AccountState) -> [String] {
    (cap == before.cap ? [] : ["cap"]) + (deletion == before.deletion ? [] : ["deletion"])
  }
}

/// A question about an account that has streams, and the answer.
package enum Look {
  package struct Question: Sendable {
    package let account: Identifier
    package let credentials: Set<Credential>
  }

  package struct Finding: Sendable {
    let account: Identifier
    let asked: Set<Credential>
    /// The credentials that still entitle; none if there is no such account.
    let valid: Set<Credential>
    /// Nil if there is no such account.
    let state: AccountState?
    let number: Int64
    /// The other accounts whose news concern the account, and their sequence numbers.
    let followed: [Followed: Int64]

    package init(
      account: Identifier, asked: Set<Credential>, valid: Set<Credential>, state: AccountState?,
      number: Int64, followed: [Followed: Int64]
    ) {
      self.account = account
      self.asked = asked
      self.valid = valid
      self.state = state
      self.number = number
      self.followed = followed
    }
  }

  /// The most that an account follows of one protocol, in the order of owners. No stream and no wake-up reports a change
  /// of the rest: clients see it when they fetch the next time.
  static let followedCountMax = 500

  /// Answers questions from one snapshot, in a few statements for all of them and some for each that follows others.
  static func answer(
    _ questions: [Question], of protocols: [any ProtocolRoom.Type], _ reader: Reader, now: Instant
  ) throws -> [Finding] {
    let seen = try see(questions.map(\.account), of: protocols, reader, now: now)
    let valid = try valid(questions.flatMap(\.credentials), reader, now: now)
    return questions.map { question in
      let found = seen[question.account]
      return Finding(
        account: question.account, asked: question.credentials,
        valid: found == nil ? [] : question.credentials.intersection(valid),
        state: found?.state, number: found?.number ?? 0, followed: found?.followed ?? [:])
    }
  }

  /// What is seen of an account.
  package struct Seen: Equatable, Sendable {
    let state: AccountState
    /// The account's sequence number.
    package let number: Int64
    /// The other accounts whose news concern the account, and their sequence numbers.
    package let followed: [Followed: Int64]
    /// The numbers of their last changes that devices may need to act on.
    let loud: [Followed: Int64]

    package var isShut: Bool { state.isShut }

    /// A digest of what devices are woken for besides the account's own number.
    package var digest: [UInt8] {
      let followed = loud.map { followed, number in
        "\(followed.owner) \(followed.topic.name) \(number)"
      }
      let parts = [
        state.cap.map { "cap \($0.byteCount) \($0.plan) \($0.reason)" } ?? "",
        state.deletion.map { "deletion \($0.asked) \($0.erases?.description ?? "")" } ?? "",
      ]
      return SHA256.hash(Array((parts + followed.sorted()).joined(separator: "\n").utf8))
    }
  }

  /// The accounts that exist, in a few statements for all of them and some for each that follows others.
  package static func see(
    _ accounts: [Identifier], of protocols: [any ProtocolRoom.Type], _ queryable: some Queryable,
    now: Instant
  ) throws -> [Identifier: Seen] {
    let states = try states(of: accounts, queryable, now: now)
    var followed: [Identifier: [Followed]] = [:]
    for room in protocols {
      let found = try room.followed(
        by: Array(states.keys), atMost: followedCountMax, reading: queryable)
      followed.merge(found) { $0 + $1 }
    }
    let numbers = try numbers(of: Set(followed.values.joined().map(\.owner)), queryable)
    return states.reduce(into: [:]) { seen, found in
      let all = Set(followed[found.key] ?? [])
      seen[found.key] = Seen(
        state: found.value.state, number: found.value.number,
        followed: Dictionary(
          uniqueKeysWithValues: all.map { ($0, numbers[$0.owner]?.latest ?? 0) }),
        loud: Dictionary(uniqueKeysWithValues: all.map { ($0, numbers[$0.owner]?.loud ?? 0) }))
    }
  }

  static func states(
    of accounts: [Identifier], _ queryable: some Queryable, now: Instant
  ) throws -> [Identifier: (state: AccountState, number: Int64)] {
    var states: [Identifier: (state: AccountState, number: Int64)] = [:]
    for list in SQLList.slices(of: accounts.map { .id($0) }, after: 1) {
      try queryable.query(
        """
        SELECT a.id, a.seq, a.suspended_ms, d.asked_ms, d.erase_ms, d.begun_ms, d.suspended_ms,
          e.cap_bytes, e.plan, e.reason
        FROM sync.accounts AS a
        LEFT JOIN sync.account_deletions AS d ON d.account_id = a.id
        LEFT JOIN billing.entitlements AS e ON e.account_id = a.id AND e.from_ms = (
          SELECT max(f.from_ms) FROM billing.entitlements AS f
          WHERE f.account_id = a.id AND f.from_ms <= $1)
        WHERE a.id IN (\(list.parameters))
        """, [.instant(now)] + list.values
      ) { row in
        let asked = try row.optionalInstant(3)
        // The deletion suspends the account as well, and keeps whether it was suspended before.
        let suspended = try asked == nil ? row.optionalInstant(2) : row.optionalInstant(6)
        let cap = try row.optionalInteger(7).map { byteCount in
          AccountState.Cap(byteCount: byteCount, plan: try row.text(8), reason: try row.text(9))
        }
        let erases = try row.optionalInstant(4)
        states[try row.id(0)] = (
          AccountState(
            cap: cap, deletion: asked.map { .init(asked: $0, erases: erases) },
            isShut: try suspended != nil || row.optionalInstant(5) != nil),
          try row.integer(1)
        )
        return true
      }
    }
    return states
  }

  private static func valid(
    _ credentials: [Credential], _ reader: Reader, now: Instant
  ) throws -> Set<Credential> {
    var (keys, hashes): ([SQLValue], [SQLValue]) = ([], [])
    for credential in credentials {
      switch credential {
      case .key(let publicKey): keys.append(.blob(publicKey))
      case .session(let tokenHash): hashes.append(.blob(tokenHash))
      }
    }
    var valid: Set<Credential> = []
    for list in SQLList.slices(of: keys, after: 0) {
      valid.formUnion(
        try reader.rows(
          """
          SELECT public_key FROM sync.device_keys
          WHERE public_key IN (\(list.parameters)) AND revoked_ms IS NULL
          """, values: list.values
        ) { row in .key(try row.blob(0)) })
    }
    for list in SQLList.slices(of: hashes, after: 1) {
      valid.formUnion(
        try reader.rows(
          """
          SELECT token_hash FROM sync.sessions
          WHERE expires_ms > $1 AND token_hash IN (\(list.parameters))
          """, values: [.instant(now)] + list.values
        ) { row in .session(tokenHash: try row.blob(0)) })
    }
    return valid
  }

  private static func numbers(
    of owners: Set<Identifier>, _ queryable: some Queryable
  ) throws -> [Identifier: (latest: Int64, loud: Int64)] {
    var numbers: [Identifier: (latest: Int64, loud: Int64)] = [:]
    for list in SQLList.slices(of: owners.map { .id($0) }, after: 0) {
      try queryable.query(
        "SELECT id, seq, loud_seq FROM sync.accounts WHERE id IN (\(list.parameters))", list.values
      ) { row in
        numbers[try row.id(0)] = (latest: try row.integer(1), loud: try row.integer(2))
        return true
      }
    }
    return numbers
  }
}
