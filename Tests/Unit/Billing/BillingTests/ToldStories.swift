import Base
import RecordedStories
import TestEngines
import Testing

extension RecordedInstallation {
  /// For each named story, what `lines` tells after a step, at each time at which it changes.
  static func told(
    _ names: [String], _ lines: (RecordedInstallation, Instant) throws -> [String]
  ) throws -> String {
    var text = ""
    for name in names {
      let story = try #require(RecordedStory.all.first { $0.name == name }, "\(name)")
      let installation = try RecordedInstallation(story, .sqlite)
      var before: [String] = []
      text += "\(name)\n"
      for (index, step) in story.steps.enumerated() {
        try installation.play(step, place: "step \(index + 1)")
        let now = try lines(installation, step.at)
        if now == before { continue }
        text += "\n\(step.at)\n" + now.map { $0 + "\n" }.joined()
        before = now
      }
      text += "\n"
    }
    return text
  }
}
