/// Advice that programs and documents give in the same words. A document holds each piece between
/// marks, and a test compares them.
package struct Advice: Sendable {
  /// The steps to take, in order.
  package let steps: [String]

  /// The steps on one line, for a command to show.
  package var text: String { steps.joined(separator: "; then ") }

  /// The steps as a numbered list of Markdown.
  package var list: String {
    steps.enumerated().map { index, step in
      "\(index + 1). \(step.prefix(1).uppercased())\(step.dropFirst()).\n"
    }.joined()
  }

  /// The first key seals and every key opens. If a new key were put in front at once, it would seal
  /// what an instance that was not restarted yet cannot open.
  package static let sealingKeyRotation = Advice(steps: [
    "append a new key behind the others in COFFER_SEALING_KEYS and restart every coffer-billing",
    "move it to the front and restart every coffer-billing again",
    "run coffer delivery reseal, and keep the old key until it says that no older key is needed",
    "remove the old key and restart every coffer-billing",
  ])
}
