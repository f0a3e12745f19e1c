import Audit
package import Base
import JSON
package import Storage

/// The entries of the audit log about sealing stored deliveries anew.
package enum ResealLog {
  package static let subject = "kept deliveries and jobs"
  /// The member that counts what older keys had sealed.
  package static let byOlderKeys = "sealed_by_older_keys"

  /// When what older keys had sealed was last sealed anew with the first key of that time; nil if never.
  package static func last(reading reader: Reader) throws -> Instant? {
    var query = AuditQuery()
    query.subject = subject
    let entries = try query.entries(after: nil, limit: 1000, reading: reader)
    return entries.first { entry in
      let count = (try? JSON.parse(Array(entry.before.utf8)))?[byOlderKeys].integer
      return count.map { $0 > 0 } ?? false
    }?.at
  }
}
