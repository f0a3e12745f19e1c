import Base

/// Two devices made a block each for the same parent. Which of the blocks follows it?
///
/// The one of the device that has been a member for longer; of two that joined together, that of the smaller key. Who
/// comes later can win only against the last block, and only if that one added members and removed none: a removal that
/// was answered is never undone. It must be at most a day old, because devices keep what they need to go back for no
/// longer. A winner is older than what it replaces, so an epoch is decided at most as often as there are members.
enum ChainFork {
  static let span = Instant.Span.days(1)

  /// Whether a block takes the place of the head. `since` says from which epoch on each of the authors is a member.
  static func replaces(
    _ head: ChainBlock, stored: Instant, with block: ChainBlock, since: [[UInt8]: Int64],
    now: Instant
  ) -> Bool {
    guard let parent = head.parent, block.parent == parent, head.removals.isEmpty,
      now - stored <= span, let joined = since[block.author], joined < head.epoch
    else { return false }
    // The head's author may have left before the fork only if the rows are wrong.
    let other = since[head.author] ?? .max
    return joined == other
      ? block.author.lexicographicallyPrecedes(head.author) : joined < other
  }
}
