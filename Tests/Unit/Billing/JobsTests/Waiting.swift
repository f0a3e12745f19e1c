import Base
import Glibc

/// Whether it comes true in time; asks every 10 ms.
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
