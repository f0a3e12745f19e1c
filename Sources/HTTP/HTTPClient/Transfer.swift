import CCurl

/// A libcurl easy handle, which keeps its connections from one request to the next.
///
/// Only one thread at a time may use it, which the client's pool ensures.
@safe
final class Transfer: @unchecked Sendable {
  private let handle: UnsafeMutableRawPointer

  /// libcurl needs this call once, before any other. The first use makes it.
  private static let isReady = coffer_curl_global_init() == CURLE_OK

  init?() {
    guard Self.isReady, let handle = unsafe curl_easy_init() else { return nil }
    unsafe self.handle = handle
  }

  deinit { unsafe curl_easy_cleanup(handle) }

  func perform(
    _ method: String, _ url: String, _ headers: [(String, String)],
    _ body: HTTPClient.Body?, milliseconds: Int, into receipt: Receipt,
    authorityFile: String?, isRepeatable: Bool, noticesStall: Bool
  ) throws(HTTPClientError) -> HTTPClient.Reply {
    unsafe curl_easy_reset(handle)
    secure()
    if let authorityFile { unsafe coffer_curl_set_pointer(handle, CURLOPT_CAINFO, authorityFile) }
    if !isRepeatable { useOwnConnection() }
    if noticesStall { noticeStall() }
    if !receipt.mayBeEvents {
      unsafe coffer_curl_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds)
    }
    unsafe coffer_curl_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    unsafe coffer_curl_set_pointer(handle, CURLOPT_URL, url)
    // A server may require an explicit statement that the body is empty (RFC 9110, section 8.6).
    let body = body ?? (["PATCH", "POST", "PUT"].contains(method) ? .bytes([]) : nil)
    var upload: FileUpload?
    switch body {
    case .bytes(let bytes):
      // The size must be set first: libcurl copies that many bytes.
      unsafe coffer_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
      unsafe coffer_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes)
    case .file(let file, let range): upload = FileUpload(file, range)
    case nil: break
    }
    if method == "HEAD" { unsafe coffer_curl_set_long(handle, CURLOPT_NOBODY, 1) }
    unsafe coffer_curl_set_pointer(handle, CURLOPT_CUSTOMREQUEST, method)

    var lines: UnsafeMutablePointer<curl_slist>?
    defer { unsafe curl_slist_free_all(lines) }
    for (name, value) in headers {
      // libcurl omits a header without a value if it is written with a colon.
      unsafe lines = curl_slist_append(lines, value.isEmpty ? "\(name);" : "\(name): \(value)")
    }
    if body != nil, !headers.contains(where: { $0.0.lowercased() == "content-type" }) {
      // Otherwise libcurl declares the body to be a form.
      unsafe lines = curl_slist_append(lines, "Content-Type:")
    }
    unsafe coffer_curl_set_pointer(handle, CURLOPT_HTTPHEADER, lines)

    let code = withExtendedLifetime((receipt, upload)) {
      receive(into: receipt)
      if let upload { send(upload) }
      return unsafe curl_easy_perform(handle)
    }
    if receipt.isTooLarge { throw .tooLarge }
    guard code == CURLE_OK || receipt.isEnded else { throw Self.error(code) }
    var status = 0
    unsafe coffer_curl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
    return HTTPClient.Reply(status: status, headers: receipt.headers, body: receipt.body)
  }

  /// Sets what must not depend on libcurl's defaults. SIGALRM, by which it can time out, could hit any thread.
  private func secure() {
    unsafe coffer_curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    unsafe coffer_curl_set_long(handle, CURLOPT_SSL_VERIFYPEER, 1)
    unsafe coffer_curl_set_long(handle, CURLOPT_SSL_VERIFYHOST, 2)
    unsafe coffer_curl_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    unsafe coffer_curl_set_pointer(handle, CURLOPT_PROTOCOLS_STR, "http,https")
  }

  /// If a connection that served before ends without an answer, libcurl sends again, which could take effect twice.
  /// https://curl.se/libcurl/c/CURLOPT_FRESH_CONNECT.html, https://github.com/curl/curl/pull/18417
  private func useOwnConnection() {
    unsafe coffer_curl_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
    // Otherwise earlier connections would stay open next to it.
    unsafe coffer_curl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
  }

  /// libcurl has no other way to notice a stream that crawls.
  private func noticeStall() {
    unsafe coffer_curl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, 1024)
    unsafe coffer_curl_set_long(handle, CURLOPT_LOW_SPEED_TIME, 20)
    // Servers close idle connections after 5 seconds and more.
    unsafe coffer_curl_set_long(handle, CURLOPT_MAXAGE_CONN, 4)
  }

  /// `upload` must live until the transfer is over.
  private func send(_ upload: FileUpload) {
    let context = unsafe Unmanaged.passUnretained(upload).toOpaque()
    unsafe coffer_curl_set_long(handle, CURLOPT_UPLOAD, 1)
    unsafe coffer_curl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(upload.byteCount))
    unsafe coffer_curl_set_long(handle, CURLOPT_EXPECT_100_TIMEOUT_MS, 300)
    unsafe coffer_curl_set_pointer(handle, CURLOPT_READDATA, context)
    unsafe coffer_curl_set_pointer(handle, CURLOPT_SEEKDATA, context)
    unsafe coffer_curl_set_receiver(handle, CURLOPT_READFUNCTION) { buffer, size, count, context in
      let upload = unsafe Unmanaged<FileUpload>.fromOpaque(context!).takeUnretainedValue()
      return unsafe upload.read(UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
    }
    unsafe coffer_curl_set_seeker(handle) { context, offset, origin in
      let upload = unsafe Unmanaged<FileUpload>.fromOpaque(context!).takeUnretainedValue()
      return upload.seek(Int64(offset), origin)
    }
  }

  /// `receipt` must live until the transfer is over.
  private func receive(into receipt: Receipt) {
    let context = unsafe Unmanaged.passUnretained(receipt).toOpaque()
    unsafe coffer_curl_set_pointer(handle, CURLOPT_HEADERDATA, context)
    unsafe coffer_curl_set_pointer(handle, CURLOPT_WRITEDATA, context)
    // The most that one system call reads; libcurl has the memory only while it transfers. Its default is 16 KiB.
    unsafe coffer_curl_set_long(handle, CURLOPT_BUFFERSIZE, 256 * 1024)
    unsafe coffer_curl_set_receiver(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      let line = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: size * count))
      let receipt = unsafe Unmanaged<Receipt>.fromOpaque(context!).takeUnretainedValue()
      return receipt.takeHeaderLine(line) ? line.count : 0
    }
    unsafe coffer_curl_set_receiver(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
      let receipt = unsafe Unmanaged<Receipt>.fromOpaque(context!).takeUnretainedValue()
      return unsafe receipt.takeBody(part.bytes) ? part.count : 0
    }
  }

  /// libcurl's messages are constants, so they contain nothing of the request.
  private static func error(_ code: CURLcode) -> HTTPClientError {
    let text = unsafe String(cString: curl_easy_strerror(code))
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
      return .connect(text)
    case CURLE_OPERATION_TIMEDOUT: return .timeout
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR:
      return .tls(text)
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .invalidRequest
    default: return .failed(text)
    }
  }
}
