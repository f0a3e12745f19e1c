import Base

/// This process's uploads under way, each by a key of its own.
final class UploadsUnderWay<Attempt: AnyObject & Sendable>: Sendable {
  private struct Place {
    let epoch: Int64
    weak var attempt: Attempt?
  }

  private let places = Locked<[Identifier: Place]>([:])

  /// Takes the place of an attempt of an earlier epoch.
  func add(_ attempt: Attempt, for key: Identifier, epoch: Int64 = 0) {
    places.withLock { places in
      if let place = places[key], place.epoch > epoch { return }
      places[key] = Place(epoch: epoch, attempt: attempt)
    }
  }

  func remove(_ key: Identifier, epoch: Int64 = 0) {
    places.withLock { places in
      if places[key]?.epoch == epoch { places[key] = nil }
    }
  }

  func attempt(_ key: Identifier) -> Attempt? {
    places.withLock { $0[key]?.attempt }
  }

  var attempts: [Attempt] { places.withLock { $0.values.compactMap(\.attempt) } }
}
