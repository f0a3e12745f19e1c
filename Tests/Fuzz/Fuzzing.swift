import Base
import Glibc

/// libFuzzer's own loop over a callback (https://llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a
/// library"); the linker finds it where the build asks for `-sanitize=fuzzer`.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ argumentCount: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ callback: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Also what libFuzzer's own `main`, which the linker may take along, refers to.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  FuzzTarget.current(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
  return 0
}

/// Runs the target that COFFER_FUZZ_TARGET names, with libFuzzer's command line.
enum Fuzzing {
  static func run() -> CInt {
    guard let name = unsafe getenv("COFFER_FUZZ_TARGET").map({ unsafe String(cString: $0) }),
      FuzzTarget.all[name] != nil
    else {
      print("COFFER_FUZZ_TARGET must be one of: \(FuzzTarget.all.keys.sorted())")
      return 64
    }
    var count = CommandLine.argc
    var arguments = unsafe CommandLine.unsafeArgv
    return unsafe runDriver(&count, &arguments, testOneInput)
  }
}
