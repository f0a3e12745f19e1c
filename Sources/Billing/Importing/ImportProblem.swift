/// Why a list of purchases, or a row of it, fails: one line for its author.
package struct ImportProblem: Error, Equatable {
  package let text: String

  package init(_ text: String) { self.text = text }
}
