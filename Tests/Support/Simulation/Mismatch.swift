/// What a program does, or has, differs from what a story's model says.
package struct Mismatch: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Takes so many steps of a story, by number, and then its end. A mismatch names the step.
package func takeSteps(
  _ count: Int, _ step: (Int) throws -> Void, end: () throws -> Void
) throws {
  for number in 1...count {
    do { try step(number) } catch { throw Mismatch("step \(number): \(error)") }
  }
  do { try end() } catch { throw Mismatch("at the end: \(error)") }
}
