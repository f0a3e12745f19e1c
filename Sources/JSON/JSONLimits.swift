/// What one document may cost: it is checked before anything is allocated for it.
package struct JSONLimits: Sendable {
  package var byteCountMax: Int
  /// Arrays and objects inside one another; a scalar alone has depth 0, `[]` has 1.
  package var depthMax: Int
  /// Values of any kind. A value of three bytes can cost two hundred in memory.
  package var valueCountMax: Int

  package init(byteCountMax: Int = 1 << 20, depthMax: Int = 64, valueCountMax: Int = 1 << 17) {
    self.byteCountMax = byteCountMax
    self.depthMax = depthMax
    self.valueCountMax = valueCountMax
  }

  package static let standard = JSONLimits()
}
