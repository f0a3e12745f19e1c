import Base
import Crypto
import Storage
import TestDevices

/// An account with a device that is written to the database without the API.
struct PlantedContact: Sendable {
  let account = Random.identifier()
  let key = Random.bytes(32)
}

extension TestServer {
  /// Adds accounts that the device's account knows.
  func plantContacts(_ count: Int, of device: TestDevice) throws -> [PlantedContact] {
    let own = try device.account
    let contacts = (0..<count).map { _ in PlantedContact() }
    try database.write(for: nil) { transaction in
      for contact in contacts {
        let account = SQLValue.id(contact.account)
        try transaction.execute(
          """
          INSERT INTO sync.accounts (id, root_id, seq, usage_bytes, created_ms)
          VALUES ($1, $1, 0, 0, 0)
          """, account)
        try transaction.execute(
          """
          INSERT INTO sync.device_keys (public_key, account_id, label, added_ms, last_session_ms)
          VALUES ($1, $2, 'planted', 1, 1)
          """, .blob(contact.key), account)
        try transaction.execute(
          """
          INSERT INTO sync.log_shares (log_id, account_id, owner_id, mode, state, share_key,
            author_key, signature, granted_ms)
          VALUES ($1, $2, $3, 'read', 'accepted', $1, $1, $1, 0)
          """, .id(Random.identifier()), account, .id(own))
      }
    }
    return contacts
  }

  /// The work of the writes that a step makes.
  func writes(_ step: () throws -> Void) rethrows -> DatabaseWork {
    let before = database.writeWork
    try step()
    return database.writeWork - before
  }
}
