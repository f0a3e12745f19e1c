import Glibc
import HTTPMessages

/// A request head in libmicrohttpd's memory; valid during one call of the access handler.
///
/// Version 0.9.75 parses in place: from the method on, all is as received, except for a NUL over every separator that
/// it found. This makes the strict rules checkable. With another layout every request would be refused.
@safe
struct RawHead {
  private let method: UnsafePointer<CChar>
  private let version: UnsafePointer<CChar>

  init(method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) {
    unsafe self.method = method
    unsafe self.version = version
  }

  /// The method and the header section, or the rule that the request breaks.
  func read(
    _ connection: Connection, _ target: RawTarget, _ limits: ServerLimits
  ) throws(Problem) -> (method: String, section: HeaderSection) {
    let byteCount = connection.headByteCount
    guard byteCount > 0, byteCount <= limits.headerByteCountMax else {
      throw Problem(
        431, "header_too_large", "Header too large",
        "Request line and header fields can have at most \(limits.headerByteCountMax) bytes together."
      )
    }
    let block = unsafe Array(UnsafeRawBufferPointer(start: method, count: byteCount))
    let methodEnd = unsafe strlen(method)
    let targetStart = unsafe Int(bitPattern: target.place &- UInt(bitPattern: method))
    let versionStart = unsafe Int(bitPattern: version) - Int(bitPattern: method)
    let versionEnd = unsafe versionStart + strlen(version)
    // Each separator must be one space, or CR and LF: no run of spaces, no NUL in the target.
    guard targetStart == methodEnd + 1, versionStart == targetStart + target.byteCount + 1,
      versionEnd + 2 < byteCount, block[versionEnd] == 0, block[versionEnd + 1] == 0
    else {
      throw HeaderSection.malformed(
        "The request line must be method, target and version, single spaces between, and CRLF.")
    }
    if let problem = target.problem { throw problem }
    guard methodEnd <= Self.methodByteCountMax,
      block[..<methodEnd].allSatisfy({ HeaderSection.isTokenCharacter($0) })
    else { throw HeaderSection.malformed("The method is not a token of at most 32 characters.") }
    let section = try HeaderSection(block, from: versionEnd + 2, countMax: limits.headerCountMax)
    // More fields here than libmicrohttpd found: a NUL hid a line from it.
    guard section.headers.fields.count == connection.headerCount else {
      throw HeaderSection.malformed("A header value holds a NUL.")
    }
    return (String(decoding: block[..<methodEnd], as: UTF8.self), section)
  }

  private static let methodByteCountMax = 32
}
