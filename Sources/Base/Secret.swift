/// Bytes that must never appear in a log, an error or a `description`.
///
/// It does not hide them from this process: memory dumps still show them.
package struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The bytes themselves, for the one call that needs them.
  package let exposed: [UInt8]

  package init(_ bytes: [UInt8]) { exposed = bytes }
  package init(_ text: String) { exposed = Array(text.utf8) }

  package var description: String { "<secret>" }
  package var debugDescription: String { "<secret>" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
