import CExpat

/// An element of a small XML document, without attributes.
///
/// Expat reads the text. A document with a type declaration is refused, because only that can define entities.
package struct XMLElement: Equatable, Sendable {
  /// The name without its namespace's prefix.
  package let name: String
  /// All characters that stand directly in the element.
  package private(set) var text = ""
  package private(set) var children: [XMLElement] = []

  private static let depthMax = 16

  /// Nil unless the bytes are one well-formed document of at most 16 levels.
  package init?(_ document: [UInt8]) {
    guard let parser = unsafe XML_ParserCreate("UTF-8") else { return nil }
    defer { unsafe XML_ParserFree(parser) }
    let builder = Builder()
    let isRead = withExtendedLifetime(builder) {
      unsafe XML_SetUserData(parser, Unmanaged.passUnretained(builder).toOpaque())
      unsafe XML_SetElementHandler(
        parser,
        { context, name, _ in unsafe Builder.of(context).begin(String(cString: name!)) },
        { context, _ in unsafe Builder.of(context).end() })
      unsafe XML_SetCharacterDataHandler(parser) { context, bytes, count in
        let bytes = unsafe UnsafeRawBufferPointer(start: bytes, count: Int(count))
        unsafe Builder.of(context).add(bytes)
      }
      unsafe XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
        unsafe Builder.of(context).refuse()
      }
      return unsafe document.withUnsafeBytes { bytes in
        unsafe XML_Parse(
          parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), 1)
          == XML_STATUS_OK
      }
    }
    guard isRead, let root = builder.root else { return nil }
    self = root
  }

  private init(name: String) { self.name = name }

  /// The first child of that name.
  package subscript(name: String) -> XMLElement? { children.first { $0.name == name } }

  package func all(_ name: String) -> [XMLElement] { children.filter { $0.name == name } }

  private final class Builder {
    private var open: [(element: XMLElement, text: [UInt8])] = []
    private var isRefused = false
    private var whole: XMLElement?

    var root: XMLElement? { isRefused ? nil : whole }

    static func of(_ context: UnsafeMutableRawPointer?) -> Builder {
      unsafe Unmanaged<Builder>.fromOpaque(context!).takeUnretainedValue()
    }

    func refuse() { isRefused = true }

    func begin(_ name: String) {
      if open.count >= XMLElement.depthMax { isRefused = true }
      guard !isRefused else { return }
      open.append((XMLElement(name: String(name.split(separator: ":").last ?? "")), []))
    }

    func add(_ bytes: UnsafeRawBufferPointer) {
      guard !isRefused, !open.isEmpty else { return }
      unsafe open[open.count - 1].text.append(contentsOf: bytes)
    }

    func end() {
      guard !isRefused, let last = open.popLast() else { return }
      var element = last.element
      element.text = String(decoding: last.text, as: UTF8.self)
      if open.isEmpty {
        whole = element
      } else {
        open[open.count - 1].element.children.append(element)
      }
    }
  }
}
