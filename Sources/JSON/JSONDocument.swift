import CJansson

/// The tree of one parsed text, freed when the last view of it goes.
///
/// Nothing changes it after `init` (https://jansson.readthedocs.io/en/latest/threadsafety.html), hence Sendable.
@safe
final class JSONDocument: @unchecked Sendable {
  let root: UnsafeMutablePointer<json_t>
  private var arena: coffer_json_arena
  /// The places in `source` of the strings for which the tree has stand-ins.
  private let lifted: [Range<Int>]
  private let source: [UInt8]
  /// Whether a store wrote the text. Stores may write integers differently.
  let isForeign: Bool

  init(_ bytes: [UInt8], limits: JSONLimits, isForeign: Bool = false) throws(JSONError) {
    self.isForeign = isForeign
    let scan = try JSONScan(bytes, limits: limits)
    lifted = scan.lifted
    source = lifted.isEmpty ? [] : bytes
    do {
      (unsafe root, unsafe arena) = unsafe try Self.parse(scan.text)
    } catch {
      // The error must describe the text as it came.
      (unsafe root, unsafe arena) = unsafe try Self.parse(bytes)
    }
  }

  /// The lifted string that `string` stands in for; nil if it is not a stand-in.
  func lifted(by string: UnsafeRawBufferPointer) -> ArraySlice<UInt8>? {
    guard !lifted.isEmpty, let number = unsafe JSONScan.number(ofStandIn: string),
      lifted.indices.contains(number)
    else { return nil }
    return source[lifted[number]]
  }

  private static func parse(
    _ bytes: [UInt8]
  ) throws(JSONError) -> (UnsafeMutablePointer<json_t>, coffer_json_arena) {
    var error = json_error_t()
    let flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY
    // Most trees fit into one chunk. Larger chunks would make the heap consolidate memory at each release.
    let chunkByteCount = min(60_000, 2000 + bytes.count * 8)
    _ = usesArenas
    var arena = unsafe coffer_json_arena(
      last: nil, next: nil, end: nil, chunk_byte_count: chunkByteCount)
    let root = unsafe bytes.withUnsafeBytes { buffer in
      unsafe coffer_json_load(
        buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count, Int(flags), &error,
        &arena)
    }
    guard let root = unsafe root else {
      unsafe coffer_json_release(&arena)
      throw Self.refusal(&error)
    }
    return unsafe (root, arena)
  }

  deinit { unsafe coffer_json_release(&arena) }

  private static let usesArenas: Bool = {
    coffer_json_use_arenas()
    return true
  }()

  /// jansson's own message is not passed on, because it quotes the input.
  private static func refusal(_ error: inout json_error_t) -> JSONError {
    let place = "at byte \(error.position)"
    switch unsafe json_error_code(UInt32(coffer_json_error_code(&error))) {
    case json_error_duplicate_key:
      return JSONError(code: .duplicateName, message: "an object names a member twice \(place)")
    case json_error_numeric_overflow:
      return JSONError(code: .numberRange, message: "a number is out of range \(place)")
    case json_error_stack_overflow:
      return JSONError(code: .tooDeep, message: "too many levels \(place)")
    case json_error_invalid_utf8:
      return JSONError(code: .invalidUTF8, message: "not UTF-8 \(place)")
    case json_error_null_character, json_error_null_byte_in_key:
      return JSONError(code: .nullCharacter, message: "U+0000 \(place)")
    case json_error_end_of_input_expected:
      return JSONError(code: .syntax, message: "something follows the end of the text \(place)")
    case json_error_premature_end_of_input, json_error_invalid_argument:
      return JSONError(code: .syntax, message: "the text ends too early \(place)")
    default:
      return JSONError(code: .syntax, message: "no JSON \(place)")
    }
  }
}
