/// What a share permits.
package enum ShareMode: String, CaseIterable, Sendable {
  case read, write
}
