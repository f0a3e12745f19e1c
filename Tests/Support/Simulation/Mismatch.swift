/// What a program does, or has, differs from what a story's model says.
package struct Mismatch: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
