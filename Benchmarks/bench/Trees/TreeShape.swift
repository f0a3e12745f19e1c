import Base
import SeededRandom

/// A tree of `fileCount` files, each identified by its number alone.
///
/// File 0 is a folder that contains all others: a hundred in each folder, every tenth a folder itself, filled
/// level by level. A million files are six levels deep, a thousand are three.
struct TreeShape: Sendable {
  private static let childCount = 100

  let fileCount: Int
  private let seed: UInt64

  init(fileCount: Int, seed: UInt64) {
    self.fileCount = fileCount
    self.seed = seed
  }

  func id(_ index: Int) -> Identifier {
    var random = SeededGenerator(seed: seed &+ UInt64(index) &* 0x2545_F491_4F6C_DD1D)
    return Identifier(high: random.next(), low: random.next())
  }

  func isFolder(_ index: Int) -> Bool { index == 0 || index % 10 == 1 }

  /// The number of the folder that contains a file; nil for the topmost, which is in the root.
  func parent(_ index: Int) -> Int? {
    guard index > 0 else { return nil }
    let folder = (index - 1) / Self.childCount
    return folder == 0 ? 0 : 10 * (folder - 1) + 1
  }

  /// The number of folders that contain files; the first is the topmost.
  var filledFolderCount: Int { (fileCount - 2) / Self.childCount + 1 }

  func filledFolder(_ number: Int) -> Int { number == 0 ? 0 : 10 * (number - 1) + 1 }

  /// The number of levels from the root down to a file.
  func depth(_ index: Int) -> Int {
    var depth = 1
    var place = index
    while let above = parent(place) {
      depth += 1
      place = above
    }
    return depth
  }
}
