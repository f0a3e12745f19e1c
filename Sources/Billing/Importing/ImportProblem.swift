/// Why a list of purchases, or a row of it, comes to nothing: one line for whoever wrote it.
package struct ImportProblem: Error, Equatable {
  package let text: String

  package init(_ text: String) { self.text = text }
}
