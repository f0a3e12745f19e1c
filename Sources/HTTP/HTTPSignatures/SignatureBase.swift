package import HTTPMessages

/// What a signature signs (RFC 9421, section 2.5): a line for each covered component, and one with their list.
package struct SignatureBase: Sendable {
  package let bytes: [UInt8]

  /// `input` is one member of the Signature-Input field.
  package init(
    covering input: StructuredField.InnerList, of head: RequestHead,
    kinds: [String: StructuredField.Kind] = SignaturePolicy.registeredFieldKinds
  ) throws(SignatureRefusal) {
    var seen: [SignatureComponent] = []
    var text: [UInt8] = []
    text.reserveCapacity(1024)
    for item in input.items {
      let component = try SignatureComponent(item)
      guard !seen.contains(where: { $0.isSame(as: component) }) else {
        throw .malformed("the component \(component.name) stands twice")
      }
      seen.append(component)
      let value = try component.value(in: head, kinds: kinds)
      // A line break in a value could forge another line. Section 2.5 forbids the other characters.
      guard value.allSatisfy({ 0x20...0x7E ~= $0 || $0 == 0x09 }) else {
        throw .malformed("the component \(component.name) is not printable ASCII")
      }
      item.append(to: &text)
      text += ": ".utf8
      text += value
      text.append(UInt8(ascii: "\n"))
    }
    text += "\"@signature-params\": ".utf8
    input.append(to: &text)
    bytes = text
  }
}
