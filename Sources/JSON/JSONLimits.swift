/// The most that one document may cost. It is checked before anything is allocated for the document.
package struct JSONLimits: Sendable {
  package var byteCountMax: Int
  /// The depth of nested arrays and objects: a scalar alone has depth 0, `[]` has 1.
  package var depthMax: Int
  /// The number of values of any kind. A value of three bytes can take 200 bytes of memory.
  package var valueCountMax: Int

  package init(byteCountMax: Int = 1 << 20, depthMax: Int = 64, valueCountMax: Int = 1 << 17) {
    self.byteCountMax = byteCountMax
    self.depthMax = depthMax
    self.valueCountMax = valueCountMax
  }

  package static let standard = JSONLimits()
}
