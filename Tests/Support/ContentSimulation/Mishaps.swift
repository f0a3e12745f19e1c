import Base
import Objects
import SeededRandom

/// What goes wrong next. A story asks for at most one mishap at a time; it happens at a step that the seed chooses.
final class Mishaps: Sendable {
  enum Kind: String, CaseIterable {
    /// The program is cut off between two steps.
    case cut
    /// The store does not do what it is asked.
    case failure
    /// The store does it, and its answer is lost.
    case lostAnswer
    /// The store does not answer, and an object that was sent to it lands later.
    case late
  }

  private struct State {
    var random: SeededGenerator
    var next: Kind?
    /// The steps until then.
    var countdown = 0
    var happened: Kind?
  }

  private let state: Locked<State>
  /// Saves what a crash at this moment leaves. An object that is under way to the store may land later.
  private let save: @Sendable (Sent?) -> Void

  typealias Sent = (key: Identifier, bytes: [UInt8])

  /// A write has about ten moments between two steps, and three requests to the store.
  private static let (momentCountMax, requestCountMax) = (10, 3)

  init(seed: UInt64, save: @escaping @Sendable (Sent?) -> Void) {
    state = Locked(State(random: SeededGenerator(seed: seed ^ 0xC0FF_EE00_5EED_0001)))
    self.save = save
  }

  /// Lets something go wrong during `body`, or nothing. Returns what did.
  func during(_ percent: Int, _ body: () throws -> Void) rethrows -> Kind? {
    state.withLock { state in
      state.happened = nil
      guard Int.random(in: 0..<100, using: &state.random) < percent else { return }
      state.next = Kind.allCases.randomElement(using: &state.random)
      let countMax = state.next == .cut ? Self.momentCountMax : Self.requestCountMax
      state.countdown = Int.random(in: 1...countMax, using: &state.random)
    }
    defer { state.withLock { $0.next = nil } }
    try body()
    return state.withLock { $0.happened }
  }

  /// A moment between two steps of the program.
  func tick(sending sent: Sent? = nil) {
    let isCut = state.withLock { state in
      guard state.next == .cut, state.happened == nil else { return false }
      state.countdown -= 1
      guard state.countdown == 0 else { return false }
      state.happened = .cut
      return true
    }
    guard isCut else { return }
    save(state.withLock { Bool.random(using: &$0.random) } ? sent : nil)
  }

  /// What goes wrong with this request to the store, if anything.
  func request() -> Kind? {
    state.withLock { state in
      guard let next = state.next, next != .cut, state.happened == nil else { return nil }
      state.countdown -= 1
      guard state.countdown == 0 else { return nil }
      state.happened = next
      return next
    }
  }
}
