/// Why a text is no JSON document for us, or why a document does not hold what its reader needs.
///
/// No field ever quotes a value: a document may hold personal data and errors go to logs.
package struct JSONError: Error, Sendable, Equatable {
  package enum Code: Sendable, Equatable {
    /// Not one RFC 8259 text: bad grammar, nothing at all, or something after the end.
    case syntax
    /// An object names a member twice, so that two readers could see two documents.
    case duplicateName
    /// More nested arrays and objects than `JSONLimits.depthMax`.
    case tooDeep
    /// More bytes or more values than the limits allow.
    case tooLarge
    /// An integer beyond 64 bits or a real beyond a double.
    case numberRange
    case invalidUTF8
    /// A string or a name holds U+0000, which SQL text and C strings cannot carry.
    case nullCharacter
    /// The reader needs a member that is not there.
    case missing
    /// The reader needs another kind of value than the one there.
    case wrongType
  }

  package let code: Code
  /// Where: `$` is the document, `$.items[0].id` a value in it. Texts that cannot be parsed have `$`.
  package let path: String
  /// A sentence without input data; of a text that cannot be parsed it tells the byte offset.
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
