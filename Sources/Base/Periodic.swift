/// A thread that runs a closure at a fixed interval, until it is stopped.
///
/// A failure is logged, and the next tick tries again.
package final class Periodic: Sendable {
  private let isStopping = Locked(false)
  private let thread = Locked<Thread?>(nil)

  package init(_ name: String, every seconds: Int64, _ body: @escaping @Sendable () throws -> Void)
  {
    let running = Thread { [isStopping] in
      while isStopping.wait(until: .now() + .seconds(seconds), { $0 ? true : nil }) == nil {
        do { try body() } catch {
          Log.warning("task.failed", ["task": name, "error": String(reflecting: error)])
        }
      }
    }
    thread.withLock { $0 = running }
  }

  /// Stops the thread. Returns once the tick under way has ended.
  package func stop() {
    isStopping.signal { $0 = true }
    thread.withLock { $0 }?.join()
  }
}
