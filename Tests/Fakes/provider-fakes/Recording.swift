import Crypto
import ProviderFakes
import TestFiles

/// The files of a store's stories, the same at every run, in a folder that holds nothing else.
struct Recording {
  let folder: String
  /// By path inside the folder.
  private(set) var files: [String: [UInt8]]
  /// Whether two different files have the same meaning, because signatures may be random.
  private let saysTheSame: ([UInt8], [UInt8]) -> Bool

  /// `files`: the keys, which are stored with the stories.
  init(
    folder: String, files: [String: [UInt8]] = [:],
    saysTheSame: @escaping ([UInt8], [UInt8]) -> Bool = { $0 == $1 }
  ) {
    self.folder = folder
    self.files = files
    self.saysTheSame = saysTheSame
  }

  /// Every store with recorded stories, by its folder under webhooks/.
  static let stores: [String: @Sendable (String) throws(RecordingError) -> Recording] = [
    "stripe": stripe(in:), "apple": apple(in:), "google": google(in:), "btcpay": btcpay(in:),
  ]

  private static func stripe(in folder: String) -> Recording {
    var recording = Recording(folder: folder)
    for version in StripeVersion.allCases {
      for story in StripeRecording.all(in: version) {
        recording.add(
          story.record(in: version), title: story.title,
          at: "\(version.rawValue)/\(story.name)")
      }
    }
    return recording
  }

  private static func apple(in folder: String) throws(RecordingError) -> Recording {
    let keys = try AppleKeys(in: folder)
    var recording = Recording(
      folder: folder, files: keys.files, saysTheSame: AppleKeys.areSignedAlike)
    for story in AppleStory.all {
      recording.add(story.record(signer: keys.signer), title: story.title, at: story.name)
    }
    return recording
  }

  private static func google(in folder: String) throws(RecordingError) -> Recording {
    let keys = try GoogleKeys(in: folder)
    var recording = Recording(folder: folder, files: keys.files)
    for story in GoogleStory.all {
      let recorder = story.record(key: keys.issuer, serviceKey: keys.service.publicKey)
      recording.add(recorder, title: story.title, at: story.name)
    }
    return recording
  }

  private static func btcpay(in folder: String) -> Recording {
    var recording = Recording(folder: folder)
    for story in BTCPayStory.all {
      recording.add(story.record(), title: story.title, at: story.name)
    }
    return recording
  }

  private mutating func add<Store>(
    _ recorder: StoryRecorder<Store>, title: String, at path: String
  ) {
    for (name, bytes) in recorder.files {
      let present = Files.bytes("\(folder)/\(path)/\(name)")
      files["\(path)/\(name)"] = present.flatMap { saysTheSame($0, bytes) ? $0 : nil } ?? bytes
    }
    files["\(path)/story.json"] = recorder.storyFile(title: title)
  }

  // MARK: files

  /// Writes the files that differ and removes those of no story; returns a sentence about it.
  func write() throws(RecordingError) -> String {
    let (stale, differing) = compare()
    for path in stale where !Files.remove("\(folder)/\(path)") {
      throw RecordingError(text: "cannot remove \(path)")
    }
    try add(differing)
    return "\(folder): \(files.count) files, \(differing.count) written, \(stale.count) removed"
  }

  /// Writes all files into a folder that may hold other files.
  func add() throws(RecordingError) { try add(Array(files.keys)) }

  /// The files that are missing, differ, or belong to no story.
  func differences() -> [String] {
    let (stale, differing) = compare()
    return (stale + differing).sorted()
  }

  private func compare() -> (stale: [String], differing: [String]) {
    (
      Files.paths(under: folder).filter { files[$0] == nil },
      files.filter { Files.bytes("\(folder)/\($0.key)") != $0.value }.map(\.key).sorted()
    )
  }

  private func add(_ paths: [String]) throws(RecordingError) {
    for path in paths {
      do throws(FileError) {
        try Files.write(files[path] ?? [], to: "\(folder)/\(path)")
      } catch {
        throw RecordingError(text: error.description)
      }
    }
  }
}

struct RecordingError: Error {
  let text: String
}
