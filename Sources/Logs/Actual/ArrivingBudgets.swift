package import Base
package import JSON
package import Storage

/// The budgets of Actual's clients in an archive, checked before anything of them is written. Each is a log that comes,
/// too. Passwords of apps stay behind: whoever has the archive could log in with them.
package struct ArrivingBudgets: Sendable {
  private struct Budget: Sendable {
    let uploaded: ActualFile.Uploaded
    let log: Identifier
    let key: ActualFile.Key?
    /// Whether a client reset it, and none has uploaded it since.
    let isReset: Bool

    init(_ json: JSON) throws(JSONError) {
      log = try json["log"].requireIdentifier()
      isReset = try json["reset"].requireBool()
      let (key, meta) = (json["key"], json["meta"])
      self.key =
        key.isNull
        ? nil
        : ActualFile.Key(
          id: try key["id"].requireText(ActualFile.keyByteCountMax),
          salt: try key["salt"].requireText(ActualFile.keyByteCountMax),
          test: try key["test"].requireText(ActualFile.testByteCountMax))
      uploaded = ActualFile.Uploaded(
        file: try json["file"].requireString(),
        name: try json["name"].requireText(ActualFile.nameByteCountMax),
        format: try json["format"].requireInteger(),
        meta: meta.isNull
          ? nil
          : ActualFile.Meta(
            text: try meta["text"].requireText(ActualFile.metaByteCountMax),
            key: try meta["key"].requireText(ActualFile.metaByteCountMax)))
      guard ActualFile.isID(uploaded.file) else {
        throw JSONError(code: .wrongType, path: json["file"].path, message: "is no id of a budget")
      }
      // As an upload must be: clients read both.
      guard !uploaded.name.isEmpty else {
        throw JSONError(code: .wrongType, path: json["name"].path, message: "must not be empty")
      }
      guard uploaded.meta?.isReadable ?? true else {
        throw JSONError(
          code: .wrongType, path: meta.path, message: "must be JSON whose keyId is its key")
      }
    }
  }

  private let budgets: [Budget]

  package static let list = "budgets.json"

  /// Nil stands for an account without budgets. Throws at the first error.
  package init(_ list: JSON?, of logs: ArrivingLogs) throws {
    budgets = try (list?["budgets"].requireArray() ?? []).map { json throws(JSONError) in
      try Budget(json)
    }
    guard Set(budgets.map(\.uploaded.file)).count == budgets.count,
      Set(budgets.map(\.log)).count == budgets.count
    else {
      throw JSONError(code: .wrongType, path: Self.list, message: "has a budget or a log twice")
    }
    guard logs.ids.isSuperset(of: budgets.map(\.log)) else {
      throw JSONError(code: .wrongType, path: Self.list, message: "has a budget without its log")
    }
    for log in budgets.map(\.log) {
      guard let timestamp = logs.unreadable[log] else { continue }
      throw JSONError(
        code: .wrongType, path: Self.list,
        message: "has a budget whose message \(timestamp) is no Actual envelope, in the log \(log)")
    }
  }

  /// Writes the budgets, whose logs are there by now. Clients download them anew, because the epochs are others.
  package func insert(of account: Identifier, in transaction: Transaction) throws {
    for budget in budgets {
      let log = try MessageLog.find(transaction, budget.log, for: account)
      try ActualFile.save(
        budget.uploaded, of: account, log: log.id, group: log.epoch, key: budget.key, transaction)
      if budget.isReset {
        try ActualFile.find(transaction, budget.uploaded.file, of: account)?.reset(transaction)
      }
    }
  }
}

extension ActualFile.Meta {
  fileprivate var isReadable: Bool {
    let json = try? JSON.parse(Array(text.utf8))
    return json?["keyId"].string == key
  }
}

extension ActualFile {
  /// What an archive has of it: neither the owner nor the group, which differs where the budget arrives.
  var movedJSON: JSONValue {
    [
      "file": .string(file), "log": .string(log.description), "name": .string(name),
      "reset": .bool(group == nil), "format": .integer(format),
      "key": key.map { ["id": .string($0.id), "salt": .string($0.salt), "test": .string($0.test)] }
        ?? .null,
      "meta": meta.map { ["text": .string($0.text), "key": .string($0.key)] } ?? .null,
    ]
  }
}

extension JSON {
  fileprivate func requireText(_ byteCountMax: Int) throws(JSONError) -> String {
    let text = try requireString()
    guard text.utf8.count <= byteCountMax, !text.utf8.contains(0) else {
      throw JSONError(
        code: .wrongType, path: path, message: "must be text of at most \(byteCountMax) bytes")
    }
    return text
  }
}
