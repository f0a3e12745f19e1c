internal import Base

/// Whether virtual time is allowed; nothing else differs between the two.
package enum Mode: String, Sendable, CaseIterable { case production, test }

extension SettingsReader {
  mutating func mode() -> Mode {
    guard let text = text(.mode) else { return .production }
    guard let mode = Mode(rawValue: text) else {
      refuse(.mode, "\(quoted(text)) is neither production nor test")
      return .production
    }
    return mode
  }

  /// The clock every program of the installation uses.
  mutating func clock() -> Clock {
    let mode = mode()
    guard let path = text(.testClock) else { return .system }
    guard mode == .test else {
      refuse(.testClock, "is refused unless \(Key.mode.rawValue)=test")
      return .system
    }
    do throws(TextFile.Failure) {
      let text = String(decoding: try TextFile.bytes(at: path), as: UTF8.self)
      if Int64(text.filter { $0 != "\n" }) == nil {
        refuse(.testClock, "\(path) does not hold milliseconds since 1970")
      }
    } catch {
      refuse(.testClock, "\(path) \(error.text)")
    }
    return .file(path)
  }
}
