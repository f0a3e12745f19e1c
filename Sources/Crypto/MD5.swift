/// MD5 (RFC 1321): 16 bytes. It tells of bytes that changed by accident, not of bytes that someone changed.
package final class MD5Stream: DigestStream {
  package init() { super.init(.md5) }
}
