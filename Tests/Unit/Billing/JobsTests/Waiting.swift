import Base
import Glibc

/// Whether the condition comes true in time; checked every 10 ms.
func eventually(
  _ span: Instant.Span = .seconds(10), _ condition: () throws -> Bool
) rethrows -> Bool {
  let deadline = MonotonicTime.now() + span
  while try !condition() {
    if deadline < .now() { return false }
    pause(milliseconds: 10)
  }
  return true
}

func pause(milliseconds: UInt32) { usleep(milliseconds * 1000) }
