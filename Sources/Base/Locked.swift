import Glibc

/// A value that only one thread at a time may access.
///
/// A pthread mutex, because the thread sanitizer does not see the futex of `Synchronization.Mutex`.
@safe
package final class Locked<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let changed: UnsafeMutablePointer<pthread_cond_t>
  private var box: Box

  // A member of no size has the address of the whole. Of an object that is where its class stands, which everybody
  // reads, and the thread sanitizer reports a race. Beside a byte the value has an address of its own.
  private struct Box {
    var value: Value
    private let byte: UInt8 = 0

    init(_ value: consuming sending Value) { self.value = value }
  }

  package init(_ value: consuming sending Value) {
    box = Box(value)
    unsafe mutex = .allocate(capacity: 1)
    unsafe changed = .allocate(capacity: 1)
    unsafe pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&box.value)
  }

  /// Changes the value and wakes every thread in `wait`.
  package func signal<Result>(_ body: (inout Value) -> Result) -> Result {
    // Once the lock is free: a thread that is woken needs it at once, and would go back to sleep.
    defer { unsafe pthread_cond_broadcast(changed) }
    return withLock(body)
  }

  /// Changes the value and wakes one thread in `wait`. Use it where the change lets one thread go on, whichever it is.
  package func signalOne<Result>(_ body: (inout Value) -> Result) -> Result {
    defer { unsafe pthread_cond_signal(changed) }
    return withLock(body)
  }

  /// Waits until `body` returns a value; nil once `deadline` has passed.
  ///
  /// `body` runs under the lock, at once and after each `signal`, or a `signalOne` that wakes this thread.
  package func wait<Result>(
    until deadline: MonotonicTime? = nil, _ body: (inout Value) -> Result?
  ) -> Result? {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&box.value) { return result }
      guard let deadline else {
        unsafe pthread_cond_wait(changed, mutex)
        continue
      }
      if deadline <= .now() { return nil }
      var time = timespec()
      time.tv_sec = Int(deadline.nanoseconds / 1_000_000_000)
      time.tv_nsec = Int(deadline.nanoseconds % 1_000_000_000)
      unsafe pthread_cond_timedwait(changed, mutex, &time)
    }
  }
}

/// An operating-system thread that runs `body` once and can be joined.
package struct Thread: Sendable {
  private let handle: pthread_t

  /// The niceness of threads whose work can wait: they get about 40 % of a committing thread's share of a processor.
  package static let behindWriter: Int32 = 4

  /// `niceness` is as in nice(2), from 0 up: only a privileged process may use a negative one.
  package init(niceness: Int32 = 0, _ body: @escaping @Sendable () -> Void) {
    let start = unsafe Unmanaged.passRetained(
      Body {
        // On Linux each thread has its own niceness (setpriority(2), "C library/kernel differences").
        if niceness != 0 { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
        body()
      })
    var handle = pthread_t()
    let code = unsafe pthread_create(
      &handle, nil,
      { argument in
        unsafe Unmanaged<Body>.fromOpaque(argument!).takeRetainedValue().run()
        return nil
      }, start.toOpaque())
    precondition(code == 0, "no thread to be had: error \(code)")
    self.handle = handle
  }

  /// Waits for the thread's end. Call once. The thread itself, which may hold the last reference, does not wait.
  package func join() {
    if pthread_equal(handle, pthread_self()) != 0 {
      pthread_detach(handle)
    } else {
      pthread_join(handle, nil)
    }
  }

  private final class Body: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
