/// Why a text is not accepted as a JSON document, or lacks what its reader needs.
///
/// No field ever quotes a value: a document may hold personal data, and errors go to logs.
package struct JSONError: Error, Sendable, Equatable {
  package enum Code: Sendable, Equatable {
    /// Not one RFC 8259 text: bad grammar, no text, or something after the end.
    case syntax
    /// An object names a member twice, so that two readers could see different documents.
    case duplicateName
    /// More nested arrays and objects than `JSONLimits.depthMax`.
    case tooDeep
    case tooLarge
    /// An integer beyond 64 bits or a real beyond a double.
    case numberRange
    case invalidUTF8
    /// A string or a name contains U+0000, which SQL text and C strings cannot hold.
    case nullCharacter
    case missing
    /// The reader needs a value of another kind than the one there.
    case wrongType
  }

  package let code: Code
  /// The place: `$` is the document, `$.items[0].id` a value in it. For a text that cannot be parsed it is `$`.
  package let path: String
  /// A sentence without input data. For a text that cannot be parsed it has the byte offset.
  package let message: String

  package init(code: Code, path: String = "$", message: String) {
    self.code = code
    self.path = path
    self.message = message
  }
}

extension JSONError: CustomStringConvertible {
  package var description: String { "\(path): \(message)" }
}
