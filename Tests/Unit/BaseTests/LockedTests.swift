import Base
import Testing

// Without a time limit: it would include the time in which other tests hold the threads.
@Suite struct LockedTests {
  @Test func `no increment of four threads is lost`() {
    let counter = Locked(0)
    let threads = (0..<4).map { _ in
      Thread { for _ in 0..<10_000 { counter.withLock { $0 += 1 } } }
    }
    for thread in threads { thread.join() }
    #expect(counter.withLock { $0 } == 40_000)
  }

  @Test func `a signal wakes every waiter`() {
    let isOpen = Locked(false)
    let passed = Locked(0)
    let threads = (0..<4).map { _ in
      Thread {
        isOpen.wait { $0 ? () : nil }
        passed.withLock { $0 += 1 }
      }
    }
    isOpen.signal { $0 = true }
    for thread in threads { thread.join() }
    #expect(passed.withLock { $0 } == 4)
  }

  @Test func `a wait gives what its body returns`() {
    let queue = Locked<[Int]>([])
    let producer = Thread {
      for number in 1...100 { queue.signal { $0.append(number) } }
    }
    var received: [Int] = []
    while received.count < 100 {
      received += queue.wait { queue -> [Int]? in
        guard !queue.isEmpty else { return nil }
        defer { queue = [] }
        return queue
      }!
    }
    producer.join()
    #expect(received == Array(1...100))
  }

  @Test func `a wait ends at its deadline`() {
    let never = Locked(0)
    let start = MonotonicTime.now()
    let result: Int? = never.wait(until: start + .milliseconds(50)) { _ in nil }
    #expect(result == nil)
    #expect(MonotonicTime.now().seconds(since: start) >= 0.05)
  }

  @Test func `a wait with a deadline in the past still looks once`() {
    let value = Locked(7)
    #expect(value.wait(until: .now()) { $0 } == 7)
    let result: Int? = value.wait(until: .now()) { _ in nil }
    #expect(result == nil)
  }

  @Test func `an error leaves the lock open`() {
    struct Failure: Error {}
    let value = Locked(1)
    #expect(throws: Failure.self) { try value.withLock { _ throws(Failure) in throw Failure() } }
    #expect(value.withLock { $0 } == 1)
  }

  @Test func `a pool runs everything it accepted before it stops`() {
    let done = Locked(0)
    let pool = WorkPool(threads: 3, capacity: 200)
    for _ in 0..<200 { #expect(pool.submit { done.withLock { $0 += 1 } }) }
    pool.stop()
    #expect(done.withLock { $0 } == 200)
  }

  @Test func `a full pool refuses work`() {
    let gate = Locked(false)
    let pool = WorkPool(threads: 1, capacity: 2)
    let started = Locked(false)
    #expect(
      pool.submit {
        started.signal { $0 = true }
        gate.wait { $0 ? () : nil }
      })
    started.wait { $0 ? () : nil }
    #expect(pool.submit {})
    #expect(pool.submit {})
    #expect(!pool.submit {})
    gate.signal { $0 = true }
    pool.stop()
  }
}
