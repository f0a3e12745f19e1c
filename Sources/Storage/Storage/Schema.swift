/// The two halves of the database. Each is written by one program and read by both.
package enum Schema: String, CaseIterable, Sendable {
  case sync
  case billing

  package var other: Schema { self == .sync ? .billing : .sync }
}
