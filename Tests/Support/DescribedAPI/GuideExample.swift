package import JSON
import TestFiles
import Testing

/// A request of a page of docs, with the JSON examples of its body and of its answer.
package struct GuideExample {
  /// The method and the target, such as `GET /v1/account`.
  package let request: String
  package let status: Int
  /// The names of the fields that the answer has besides those of every answer.
  package let fields: [String]
  /// Nil if the page shows no body of the request.
  package let body: JSON?
  /// Nil if the answer has no body.
  package let answer: JSON?

  package var method: String { String(request.prefix { $0 != " " }) }
  package var target: String { String(request.drop { $0 != " " }.dropFirst()) }

  /// All examples of the pages, in their order.
  ///
  /// `order` has a line for each request, such as `POST /v1/files/id/restore body etag 200`. The example of a body
  /// comes before that of the answer, and 204 has none.
  package static func all(of pages: String..., in order: String) throws -> [GuideExample] {
    var examples: [JSON] = []
    for page in pages {
      let text = try #require(Files.text("\(Files.repository)/docs/\(page).md"))
      let blocks = try text.matches(of: #/\n```json\n([^`]+)\n```/#).map {
        try JSON.parse(Array($0.1.utf8))
      }
      examples += blocks
    }
    var rest = examples[...]
    var all: [GuideExample] = []
    for line in order.split(separator: "\n") {
      let words = line.split(separator: " ").map { String($0) }
      let status = Int(words[words.count - 1]) ?? 0
      let body = words.contains("body") ? rest.popFirst() : nil
      let answer = status == 204 ? nil : rest.popFirst()
      all.append(
        GuideExample(
          request: "\(words[0]) \(words[1])", status: status,
          fields: words.filter { $0 == "etag" || $0 == "location" }, body: body, answer: answer))
    }
    let isComplete = rest.isEmpty && all.allSatisfy { $0.status == 204 || $0.answer != nil }
    try #require(isComplete, "\(pages) have other examples than this order")
    return all
  }
}
