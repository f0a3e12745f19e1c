import Base
import Testing

@Suite struct WorkPoolTests {
  @Test func `everything accepted is run once before the pool has stopped`() {
    let pool = WorkPool(threads: 4, capacity: 1000)
    let count = Locked(0)
    for _ in 0..<1000 {
      #expect(pool.submit { count.withLock { $0 += 1 } })
    }
    pool.stop()
    #expect(count.withLock { $0 } == 1000)
  }

  @Test func `one thread runs work in order of arrival`() {
    let pool = WorkPool(threads: 1, capacity: 100)
    let order = Locked<[Int]>([])
    for number in 0..<100 {
      #expect(pool.submit { order.withLock { $0.append(number) } })
    }
    pool.stop()
    #expect(order.withLock { $0 } == Array(0..<100))
  }

  @Test func `work beyond the capacity is refused and never run`() {
    let pool = WorkPool(threads: 1, capacity: 2)
    let state = Locked((hasBegun: false, mayEnd: false))
    let ran = Locked(0)
    #expect(
      pool.submit {
        state.signal { $0.hasBegun = true }
        _ = state.wait(until: .now() + .seconds(30)) { $0.mayEnd ? true : nil }
      })
    _ = state.wait(until: .now() + .seconds(30)) { $0.hasBegun ? true : nil }
    let accepted = (0..<5).map { _ in pool.submit { ran.withLock { $0 += 1 } } }
    state.signal { $0.mayEnd = true }
    pool.stop()
    #expect(accepted == [true, true, false, false, false])
    #expect(ran.withLock { $0 } == 2)
  }

  @Test func `whoever sends what is long leaves half of the threads to the others`() {
    let pool = WorkPool(threads: 2, capacity: 100)
    let flooder = Identifier(high: 1, low: 1)
    let state = Locked((running: 0, others: 0, mayEnd: false))
    for _ in 0..<4 {
      #expect(
        pool.submit(for: flooder) {
          state.signal { $0.running += 1 }
          _ = state.wait(until: .now() + .seconds(30)) { $0.mayEnd ? true : nil }
        })
    }
    #expect(pool.submit(for: Identifier(high: 2, low: 2)) { state.signal { $0.others += 1 } })
    let others = state.wait(until: .now() + .seconds(30)) { $0.others == 1 ? $0.running : nil }
    #expect(others == 1)
    state.signal { $0.mayEnd = true }
    pool.stop()
    #expect(state.withLock { $0.running } == 4)
  }

  @Test func `owners take turns, and one's flood fills only its own lane`() {
    let pool = WorkPool(threads: 1, capacity: 100, laneCapacity: 3)
    let flooder = Identifier(high: 1, low: 1)
    let other = Identifier(high: 2, low: 2)
    let state = Locked((hasBegun: false, mayEnd: false))
    let order = Locked<[Identifier?]>([])
    #expect(
      pool.submit {
        state.signal { $0.hasBegun = true }
        _ = state.wait(until: .now() + .seconds(30)) { $0.mayEnd ? true : nil }
      })
    _ = state.wait(until: .now() + .seconds(30)) { $0.hasBegun ? true : nil }
    func submit(_ owner: Identifier?) -> Bool {
      pool.submit(for: owner) { order.withLock { $0.append(owner) } }
    }
    #expect((0..<5).map { _ in submit(flooder) } == [true, true, true, false, false])
    #expect([submit(other), submit(nil), submit(other)] == [true, true, true])
    state.signal { $0.mayEnd = true }
    pool.stop()
    #expect(order.withLock { $0 } == [flooder, other, nil, flooder, other, flooder])
  }

  @Test func `a stopped pool refuses work`() {
    let pool = WorkPool(threads: 1, capacity: 2)
    pool.stop()
    #expect(!pool.submit {})
  }
}
