package import Base

/// This process's uploads under way, each by a key of its own.
package final class UploadsUnderWay<Attempt: AnyObject & Sendable>: Sendable {
  private struct Place {
    let epoch: Int64
    weak var attempt: Attempt?
  }

  private let places = Locked<[Identifier: Place]>([:])

  package init() {}

  /// Takes the place of an attempt of an earlier epoch.
  package func add(_ attempt: Attempt, for key: Identifier, epoch: Int64 = 0) {
    places.withLock { places in
      if let place = places[key], place.epoch > epoch { return }
      places[key] = Place(epoch: epoch, attempt: attempt)
    }
  }

  package func remove(_ key: Identifier, epoch: Int64 = 0) {
    places.withLock { places in
      if places[key]?.epoch == epoch { places[key] = nil }
    }
  }

  package func attempt(_ key: Identifier) -> Attempt? {
    places.withLock { $0[key]?.attempt }
  }

  package var attempts: [Attempt] { places.withLock { $0.values.compactMap(\.attempt) } }
}
