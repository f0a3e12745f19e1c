/// Where an installation's objects are: one store, or two while they move from one to the other.
package struct ObjectsPlace: Sendable {
  package struct Part: Sendable {
    package let location: ObjectsLocation
    /// The keys of a bucket; nil for those of the environment.
    let keys: BucketKeys?

    package init(_ location: ObjectsLocation, _ keys: BucketKeys?) {
      (self.location, self.keys) = (location, keys)
    }
  }

  package let main: Part
  /// The store that may have older ones.
  package let also: Part?

  package init(_ main: Part, also: Part? = nil) { (self.main, self.also) = (main, also) }

  private var parts: [Part] { [main] + (also.map { [$0] } ?? []) }

  /// Those on this machine.
  package var directories: [String] { parts.compactMap(\.location.directory) }

  /// Whether a network is between this machine and any object.
  package var isDistant: Bool { directories.count < parts.count }
}
