import Base
package import HTTPMessages

/// tus 1.0.0, or a version of draft-ietf-httpbis-resumable-upload: one set of rules with other names and statuses.
struct UploadDialect: Sendable, Equatable {
  /// The draft's interop version; nil for tus.
  let interop: Int?
  /// The field that states whether a request ends the upload; nil if the length alone decides.
  let completion: Completion?
  /// The media type of an append; nil if the version has none.
  let mediaType: String?
  /// The name of the upload's remaining time among the limits of Upload-Limit.
  let lifeName: String

  struct Completion: Sendable, Equatable {
    let name: String
    /// Whether the field is true for a request that does not end the upload.
    let isInverted: Bool

    static let complete = Completion(name: "Upload-Complete", isInverted: false)
    static let incomplete = Completion(name: "Upload-Incomplete", isInverted: true)

    /// Whether the request ends the upload; nil if it lacks the field.
    func value(_ headers: Headers) throws(UploadRefusal) -> Bool? {
      guard let field = headers.combined(name.lowercased()) else { return nil }
      switch String(decoding: field, as: UTF8.self) {
      case "?1": return !isInverted
      case "?0": return isInverted
      default: throw .fieldInvalid(name, "must be ?0 or ?1")
      }
    }

    func field(_ isComplete: Bool) -> (name: String, value: String) {
      (name, isComplete != isInverted ? "?1" : "?0")
    }
  }

  static let tusVersion = "1.0.0"
  static let tus = UploadDialect(
    interop: nil, completion: nil, mediaType: "application/offset+octet-stream", lifeName: "")
  static let drafts = [
    UploadDialect(interop: 3, completion: .incomplete, mediaType: nil, lifeName: "expires"),
    UploadDialect(interop: 5, completion: .complete, mediaType: nil, lifeName: "expires"),
    UploadDialect(
      interop: 6, completion: .complete, mediaType: "application/partial-upload",
      lifeName: "expires"),
    UploadDialect(
      interop: 8, completion: .complete, mediaType: "application/partial-upload",
      lifeName: "max-age"),
  ]

  private static let interopField = "upload-draft-interop-version"

  /// The dialect of a request; nil if it names none. The response names it, too.
  static func spoken(_ head: RequestHead) throws(UploadRefusal) -> UploadDialect? {
    if let version = head.headers.text("tus-resumable") {
      head.answerFields.set("Tus-Resumable", tusVersion)
      guard version == tusVersion else { throw .tusVersionUnsupported }
      return tus
    }
    guard let version = head.headers.text(interopField) else { return nil }
    guard let draft = drafts.first(where: { String($0.interop!) == version }) else {
      throw .versionUnsupported
    }
    head.answerFields.set("Upload-Draft-Interop-Version", version)
    return draft
  }

  static func tus(spokenIn head: RequestHead) throws(UploadRefusal) -> UploadDialect {
    guard try spoken(head) == tus else { throw .versionUnsupported }
    return tus
  }

  /// The dialect in which a PUT creates an upload; nil for a PUT that carries the whole content.
  static func creating(_ head: RequestHead) throws(UploadRefusal) -> UploadDialect? {
    var isComplete = try Completion.complete.value(head.headers)
    if isComplete == nil { isComplete = try Completion.incomplete.value(head.headers) }
    guard isComplete == false else { return nil }
    // A part that is taken for the whole content would destroy the document.
    guard let dialect = try spoken(head), let completion = dialect.completion,
      try completion.value(head.headers) == false
    else { throw .versionUnsupported }
    return dialect
  }

  func accepts(_ headers: Headers) -> Bool {
    guard let mediaType else { return true }
    let given = headers.text("content-type")?.prefix { $0 != ";" && $0 != " " }
    return given?.lowercased() == mediaType
  }
}

extension RequestHead {
  /// Refuses a part where no content is uploaded in parts: taken for the whole content, it would stay as that.
  package func requireWholeContent() throws {
    for completion in [UploadDialect.Completion.complete, .incomplete] {
      if try completion.value(headers) == false { throw UploadRefusal.partUnsupported }
    }
  }
}
