import CJansson

/// A value in a parsed document, or the place where one would be.
///
/// Subscripts never fail: in a document without `data`, `json["data"]["id"]` is a missing value that knows its path,
/// which a `require` form reports. Views keep their document alive and are cheap to copy.
@safe
package struct JSON: @unchecked Sendable {
  private let document: JSONDocument
  private let node: UnsafeMutablePointer<json_t>?
  private let place: Place

  /// Reads one RFC 8259 text strictly: names are unique, integers fit 64 bits, nothing follows.
  package static func parse(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSON {
    let document = try JSONDocument(bytes, limits: limits)
    return unsafe JSON(document: document, node: document.root, place: .root)
  }

  /// Reads a text that a store signed or answered. Names are unique and nothing follows. Numbers and characters that
  /// cannot be held are replaced, and an integer may be written as `5.0` or as a string of its digits.
  package static func parseForeign(
    _ bytes: [UInt8], limits: JSONLimits = .standard
  ) throws(JSONError) -> JSON {
    let document: JSONDocument
    do throws(JSONError) {
      document = try JSONDocument(bytes, limits: limits, isForeign: true)
    } catch {
      // The error for half a surrogate pair is that of a wrong syntax.
      guard [.numberRange, .nullCharacter, .syntax].contains(error.code) else { throw error }
      let readable = ForeignText.readable(bytes)
      guard readable != bytes else { throw error }
      document = try JSONDocument(readable, limits: limits, isForeign: true)
    }
    return unsafe JSON(document: document, node: document.root, place: .root)
  }

  private init(document: JSONDocument, node: UnsafeMutablePointer<json_t>?, place: Place) {
    self.document = document
    unsafe self.node = node
    self.place = place
  }

  /// The member of an object; missing if there is none, or if this is not an object.
  package subscript(_ name: String) -> JSON {
    let member = unsafe json_object_getn(node, name, name.utf8.count)
    return unsafe JSON(document: document, node: member, place: .member(of: place, name))
  }

  /// The element of an array; missing beyond its end, or if this is not an array.
  package subscript(_ index: Int) -> JSON {
    let element = unsafe index < 0 ? nil : json_array_get(node, index)
    return unsafe JSON(document: document, node: element, place: .element(of: place, index))
  }

  /// The path of this value: `$.items[0].id`.
  package var path: String { place.text }

  package var exists: Bool { unsafe node != nil }
  package var isNull: Bool { type == JSON_NULL }
  package var isObject: Bool { type == JSON_OBJECT }

  package var string: String? {
    guard let bytes = unsafe stringBytes else { return nil }
    if let lifted = unsafe document.lifted(by: bytes) {
      return String(decoding: lifted, as: UTF8.self)
    }
    return unsafe String(decoding: bytes, as: UTF8.self)
  }

  /// A string's UTF-8, which for a long one avoids a `String`.
  package var utf8: [UInt8]? {
    guard let bytes = unsafe stringBytes else { return nil }
    return unsafe document.lifted(by: bytes).map { Array($0) } ?? Array(bytes)
  }

  /// Valid as long as the document lives.
  private var stringBytes: UnsafeRawBufferPointer? {
    guard type == JSON_STRING, let text = unsafe json_string_value(node) else { return nil }
    return unsafe UnsafeRawBufferPointer(start: text, count: json_string_length(node))
  }

  /// A number without fraction and exponent. In a foreign text also a value that means the same, such as `1.0`.
  package var integer: Int64? {
    if type == JSON_INTEGER { return unsafe Int64(json_integer_value(node)) }
    guard document.isForeign else { return nil }
    switch type {
    case JSON_REAL:
      let value = unsafe json_real_value(node)
      // Beyond this, one double represents several integers.
      return abs(value) <= 0x1p53 ? Int64(exactly: value) : nil
    case JSON_STRING:
      return string.flatMap { text in Int64(text).flatMap { "\($0)" == text ? $0 : nil } }
    default: return nil
    }
  }

  package var bool: Bool? {
    switch type {
    case JSON_TRUE: true
    case JSON_FALSE: false
    default: nil
    }
  }

  package var array: [JSON]? {
    guard type == JSON_ARRAY else { return nil }
    return unsafe (0..<json_array_size(node)).map { self[$0] }
  }

  /// The members of an object, in the order of the text.
  package var members: [(name: String, value: JSON)]? {
    guard type == JSON_OBJECT else { return nil }
    var members: [(name: String, value: JSON)] = []
    unsafe members.reserveCapacity(json_object_size(node))
    var position = unsafe json_object_iter(node)
    while let current = unsafe position {
      if let key = unsafe json_object_iter_key(current) {
        let name = unsafe String(
          decoding: UnsafeRawBufferPointer(start: key, count: json_object_iter_key_len(current)),
          as: UTF8.self)
        let value = unsafe json_object_iter_value(current)
        members.append(
          (name, unsafe JSON(document: document, node: value, place: .member(of: place, name))))
      }
      unsafe position = json_object_iter_next(node, current)
    }
    return members
  }

  private var type: json_type? { unsafe node?.pointee.type }

  /// The steps from the document to a value, made into text only on request.
  private indirect enum Place {
    case root
    case member(of: Place, String)
    case element(of: Place, Int)

    var text: String {
      switch self {
      case .root: "$"
      case .member(let parent, let name): parent.text + "." + name
      case .element(let parent, let index): parent.text + "[\(index)]"
      }
    }
  }
}

extension JSON {
  package func requireString() throws(JSONError) -> String {
    try require(string, "a string")
  }

  package func requireInteger() throws(JSONError) -> Int64 {
    try require(integer, "an integer")
  }

  package func requireBool() throws(JSONError) -> Bool {
    try require(bool, "true or false")
  }

  package func requireArray() throws(JSONError) -> [JSON] {
    try require(array, "an array")
  }

  @discardableResult
  package func requireObject() throws(JSONError) -> JSON {
    try require(isObject ? self : nil, "an object")
  }

  private func require<Value>(_ value: Value?, _ kind: String) throws(JSONError) -> Value {
    if let value { return value }
    guard exists else {
      throw JSONError(code: .missing, path: path, message: "\(kind) is needed, nothing is there")
    }
    throw JSONError(code: .wrongType, path: path, message: "must be \(kind)")
  }
}
