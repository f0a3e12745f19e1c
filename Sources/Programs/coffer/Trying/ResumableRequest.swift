import Acts
import Base
import CommandLine
import Configuration
import Crypto
import Glibc
import HTTPClient
import HTTPSignatures
import JSON

/// Sends a file as content by a resumable upload, part by part.
///
/// A file beside it keeps the upload's URL until the upload has ended, so the same command continues where it
/// stopped.
struct ResumableRequest {
  private static let partByteCount: Int64 = 8 << 20
  /// Failures in a row after which the command ends; the same command continues.
  private static let failureCountMax = 6
  private static let version = ("Upload-Draft-Interop-Version", "8")

  private let file: OpenFile
  private let path: String
  private let base: String
  private let target: String
  private let authority: String
  private let signer: RequestSigner
  private let headers: [(String, String)]
  private let digest: String
  private let now: @Sendable () -> Instant

  /// Reads the whole file once, for its digest.
  init(
    _ path: String, to target: String, at base: String, authority: String,
    key: Ed25519PrivateKey, headers: [(String, String)], now: @escaping @Sendable () -> Instant
  ) throws(CommandFailure) {
    do throws(OpenFile.Refusal) { file = try OpenFile(named: path) } catch {
      throw CommandFailure(.refused, "\(path) \(error.text)")
    }
    (self.path, self.target, self.base, self.authority) = (path, target, base, authority)
    (self.headers, self.now) = (headers, now)
    signer = RequestSigner(key: key, authority: authority)
    let hash = SHA256Stream()
    var offset: Int64 = 0
    while offset < file.byteCount {
      let bytes = try Self.read(file, path, at: offset, Self.partByteCount)
      unsafe hash.update(bytes.span.bytes)
      offset += Int64(bytes.count)
    }
    digest = Base64.standard.encode(hash.finalize())
  }

  /// Sends what the server does not have yet. Returns the final answer, or the one that stopped the upload.
  func send() throws -> Exchange {
    var url = known
    var offset: Int64?
    var failureCount = 0
    while true {
      let isAsking = url != nil && offset == nil
      do throws(HTTPClientError) {
        let exchange: Exchange
        if let known = url, offset == nil {
          exchange = try ask("HEAD", known)
          // It ended, or expired.
          if 400..<500 ~= exchange.status, exchange.status != 429 { url = nil }
        } else if let known = url, let offset {
          exchange = try append(known, at: offset)
          if exchange.header("upload-complete") == "?1" || Self.isFinal(exchange) {
            forget()
            return exchange
          }
        } else {
          exchange = try create()
          guard exchange.status == 201, let location = exchange.header("location") else {
            return exchange
          }
          url = location
          keep(location)
        }
        offset = url == nil ? nil : Self.offset(in: exchange)
        if exchange.status < 400 { failureCount = 0 } else { failureCount += 1 }
        if exchange.status == 507 || failureCount == Self.failureCountMax { return exchange }
      } catch {
        offset = nil
        failureCount += 1
        guard failureCount < Self.failureCountMax else { throw error }
      }
      // Such a server would be asked for ever.
      if isAsking, failureCount == 0, offset == nil {
        throw CommandFailure(
          .refused, "the server does not report how much of the upload it has, in Upload-Offset")
      }
      if failureCount > 0 { sleep(1 << UInt32(failureCount - 1)) }
    }
  }

  private static func offset(in exchange: Exchange) -> Int64? {
    exchange.header("upload-offset").flatMap { Int64($0) }.flatMap { $0 < 0 ? nil : $0 }
  }

  /// Whether an append was refused for good. At a wrong offset the answer has the right one, and an append that another
  /// one superseded can go on behind it. Any other 409 is what became of the upload.
  private static func isFinal(_ exchange: Exchange) -> Bool {
    guard exchange.status == 409 else {
      return 400..<500 ~= exchange.status && exchange.status != 429
    }
    let problem = (try? JSON.parse(exchange.body))?["type"].string
    return !["upload_offset_wrong", "upload_superseded"].contains { code in
      problem == "urn:coffer:problem:\(code)"
    }
  }

  // MARK: Requests

  private func create() throws(HTTPClientError) -> Exchange {
    let covered =
      headers.filter { $0.0.lowercased() == "if-match" }
      + [("Upload-Length", "\(file.byteCount)"), ("Repr-Digest", "sha-256=:\(digest):")]
    let signature = signer.headers(
      method: "PUT", target: target, body: nil, created: now(), nonce: Random.bytes(16),
      covering: covered)
    let others = headers.filter { $0.0.lowercased() != "if-match" }
    return try Exchange(
      method: "PUT", url: base + target,
      headers: signature + covered + others
        + [Self.version, ("Upload-Complete", "?0"), ("Host", authority)], body: [])
  }

  private func ask(_ method: String, _ location: String) throws(HTTPClientError) -> Exchange {
    try Exchange(
      method: method, url: base + location, headers: [Self.version, ("Host", authority)], body: nil)
  }

  private func append(_ location: String, at offset: Int64) throws(HTTPClientError) -> Exchange {
    let bytes: [UInt8]
    do { bytes = try Self.read(file, path, at: offset, Self.partByteCount) } catch {
      throw .failed(error.text)
    }
    let isLast = offset + Int64(bytes.count) >= file.byteCount
    return try Exchange(
      method: "PATCH", url: base + location,
      headers: [
        Self.version, ("Upload-Offset", "\(offset)"), ("Upload-Complete", isLast ? "?1" : "?0"),
        ("Content-Type", "application/partial-upload"), ("Host", authority),
      ], body: bytes)
  }

  // MARK: Files

  private var statePath: String { path + ".upload" }

  /// The lines of the file that keeps the URL, without it. Another file, or another target, is another upload.
  private var identity: String { "\(base)\(target)\n\(digest)\n" }

  private var known: String? {
    guard OutputFile.exists(statePath), let bytes = try? InputFile.bytes(at: statePath) else {
      return nil
    }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.hasPrefix(identity) else { return nil }
    return String(text.dropFirst(identity.count).prefix { $0 != "\n" })
  }

  private func keep(_ location: String) {
    forget()
    // Without it, only a repeated command begins anew.
    try? OutputFile.write(Array("\(identity)\(location)\n".utf8), to: statePath)
  }

  private func forget() { unsafe unlink(statePath) }

  private static func read(
    _ file: OpenFile, _ path: String, at offset: Int64, _ count: Int64
  ) throws(CommandFailure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(min(count, max(0, file.byteCount - offset))))
    var length = 0
    while length < bytes.count {
      let read = unsafe bytes.withUnsafeMutableBytes { buffer in
        unsafe pread(
          file.descriptor, buffer.baseAddress! + length, buffer.count - length,
          off_t(offset) + off_t(length))
      }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw CommandFailure(.refused, "\(path) cannot be read whole") }
      length += read
    }
    return bytes
  }
}
