/// What programs and documents advise in the same words: a document holds each between marks, and a test
/// compares them.
package struct Advice: Sendable {
  /// What is to be done, one after the other.
  package let steps: [String]

  /// On one line, for a command to show.
  package var text: String { steps.joined(separator: "; then ") }

  /// A numbered list of Markdown.
  package var list: String {
    steps.enumerated().map { index, step in
      "\(index + 1). \(step.prefix(1).uppercased())\(step.dropFirst()).\n"
    }.joined()
  }

  /// The first key seals and every one opens, so a key that is put in front at once seals what an instance
  /// that was not restarted yet cannot open.
  package static let sealingKeyRotation = Advice(steps: [
    "append a new key behind the others in COFFER_SEALING_KEYS and restart every coffer-billing",
    "move it to the front and restart every coffer-billing again",
    "run coffer delivery reseal, and keep the old key until it says that no older key is needed",
    "remove the old key and restart every coffer-billing",
  ])
}
