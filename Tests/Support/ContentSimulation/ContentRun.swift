import Glibc
package import Simulation
import TestFiles

/// `ops/simulate content`.
package enum ContentRun {
  /// Plays a seed's story. Throws if programs and model differ.
  package static func run(seed: UInt64, _ log: SimulationLog) throws {
    try ContentStory(seed: seed, log).tell(stepCount: 300)
  }

  /// Puts the copy of a database in place of the files of one that no one has open.
  static func replaceDatabase(in folder: String, from copy: String) throws {
    for name in Files.names(in: folder) where name.contains(".db") {
      _ = Files.remove("\(folder)/\(name)")
    }
    for name in Files.names(in: copy) where name.contains(".db") {
      guard unsafe rename("\(copy)/\(name)", "\(folder)/\(name)") == 0 else {
        throw Mismatch("cannot put \(name) back")
      }
    }
    Files.removeAll(copy)
  }
}
