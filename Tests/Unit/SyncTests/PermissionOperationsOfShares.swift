import Accounts
import Base
import Crypto
import JSON
import TestDevices

extension PermissionOperation {
  static var ofShares: [PermissionOperation] {
    [
      request("share with an account", "share.account") { world, role in
        try world[role].batch(shares: [
          world.grant(world.document, to: world.newcomer.account, expect: "new")
        ])
      },
      request("share with oneself, to write", "share.account") { world, role in
        try world[role].batch(shares: [
          world.grant(
            world.document, to: role, mode: "write", expect: role == .invited ? "pending" : "new")
        ])
      },
      request("share a private document", "share.file") { world, role in
        try world[role].batch(shares: [
          world.grant(world.privateDocument, to: world.newcomer.account, expect: "new")
        ])
      },
      request("share the root", "share.file") { world, role in
        try world[role].batch(shares: [
          world.grant(world[.owner].root, to: world.newcomer.account, expect: "new")
        ])
      },
      request("let the reader write", "share.mode") { world, role in
        try world[role].batch(shares: [
          world.grant(world.folder, to: .reader, mode: "write", expect: "accepted")
        ])
      },
      request("give the reader another key", "share.key") { world, role in
        try world[role].batch(shares: [world.grant(world.folder, to: .reader, expect: "accepted")])
      },
      request("revoke the reader's share", "share.state") { world, role in
        try world[role].batch(shares: [
          world.end(world.folder, of: .reader, .revoked, expect: "accepted")
        ])
      },
      request(
        "share again what was revoked", "share.state",
        prepare: { world, _ in
          try world.succeed(
            world[.owner].batch(shares: [
              world.end(world.document, of: .invited, .revoked, expect: "pending")
            ]))
        },
        { world, role in
          try world[role].batch(shares: [
            world.grant(world.document, to: .invited, expect: "revoked")
          ])
        }),
      request(
        "share again what was rejected", "share.state",
        prepare: { world, _ in
          try world.succeed(
            world[.invited].batch(shares: [
              world.end(world.document, of: .invited, .rejected, expect: "pending")
            ]))
        },
        { world, role in
          try world[role].batch(shares: [
            world.grant(world.document, to: .invited, expect: "rejected")
          ])
        }),
      request("accept in so many words", "share.state") { world, role in
        let share: JSONValue = [
          "file": .string(world.folder.description),
          "account": .string(try world.account(role).description), "state": "accepted",
        ]
        let signature = world[role].key.signature(
          for: JSONValue.object([.init("share", share)]).canonical())
        return try world[role].post(
          "/v1/files",
          [
            "author": .string(Base64.standard.encode(world[role].key.publicKey.bytes)),
            "shares": [
              [
                "expect": "pending", "share": share,
                "signature": .string(Base64.standard.encode(signature)),
              ]
            ],
          ])
      },
      request("reject one's share", "share.state") { world, role in
        try world[role].batch(shares: [
          world.end(
            world.folder, of: role, .rejected, expect: role == .invited ? "pending" : "accepted")
        ])
      },
      request(
        "delete one's link, reject the share", "share.state",
        prepare: { world, role in try world.deleteLink(of: role) },
        { world, role in
          try world[role].batch(shares: [
            world.end(world.folder, of: role, .rejected, expect: "pending")
          ])
        }),
      request("reject another's share", "share.state") { world, role in
        let (other, state) = role == .invited ? (.reader, "accepted") : (Role.invited, "pending")
        return try world[role].batch(shares: [
          world.end(world.folder, of: other, .rejected, expect: state)
        ])
      },
      request("put another's signature to a share", "share.signature") { world, role in
        var change = try world.grant(world.document, to: world.newcomer.account, expect: "new")
        change.signature = world.newcomer.key.signature(for: change.share.signedBytes)
        return try world[role].batch(shares: [change])
      },
    ]
  }

  /// A sharee's links are its own, in its own tree; the tree's owner has no part in them.
  static var ofLinks: [PermissionOperation] {
    [
      request("link to the shared folder from one's root", "share.state") { world, role in
        try world[role].accept(world.folder).answer
      },
      request("link to a document beneath it", "share.state") { world, role in
        try world[role].accept(world.innerDocument).answer
      },
      request("link to it inside the shared folder") { world, role in
        let link = try world[role].creation(
          "link", parent: world.innerFolder, owner: world.account(.owner), target: world.folder)
        return try world[role].batch(files: [link])
      },
      request("lead the writer's link elsewhere", "file.target") { world, role in
        try world[role].batch(files: [
          world.change(world.link(of: .writer)) { $0.target = world.document }
        ])
      },
      request("rename the writer's link", "file.name.hmac") { world, role in
        try world[role].batch(files: [world.change(world.link(of: .writer)) { $0.name = .init() }])
      },
      request("delete the writer's link", "share.state") { world, role in
        try world[role].batch(files: [world.change(world.link(of: .writer)) { $0.deleted = true }])
      },
      request("share the writer's link", "share.file") { world, role in
        try world[role].batch(shares: [
          world.grant(world.link(of: .writer), to: world.newcomer.account, expect: "new")
        ])
      },
    ]
  }

  /// The answers to requests by id, and what updates contain.
  static var ofSight: [PermissionOperation] {
    seen.flatMap { name, file in
      [
        request("read \(name)") { world, role in try world[role].get("/v1/files/\(file(world))") },
        sight("see \(name) in updates") { world, role in
          var replica = Replica(world[role])
          try replica.pull()
          return try replica.ids.contains(file(world)) ? done : "no"
        },
      ]
    } + [
      request("read the document's content") { world, role in
        try world[role].get("/v1/files/\(world.document)/content")
      },
      request("read the inner document's content") { world, role in
        try world[role].get("/v1/files/\(world.innerDocument)/content")
      },
      sight("see whose shares of the shared folder") { world, role in
        let answer = try world[role].get("/v1/files/\(world.folder)")
        return answer.status == 200 ? try world.sharees(answer.json) : try cell(answer)
      },
      sight("see whose shares of it in updates") { world, role in
        var replica = Replica(world[role])
        try replica.pull()
        var accounts = Set((replica.records[world.folder]?.shares ?? []).map(\.account))
        if let own = replica.shares[world.folder] { accounts.insert(own.account) }
        return try world.roles(of: accounts)
      },
    ]
  }

  private static var seen: [(String, (PermissionWorld) throws -> Identifier)] {
    [
      ("the shared folder", { $0.folder }), ("the document in it", { $0.document }),
      ("the document beneath", { $0.innerDocument }),
      ("the private document", { $0.privateDocument }),
      ("the owner's root", { $0[.owner].root }),
      ("the writer's link", { try $0.link(of: .writer) }),
    ]
  }
}

extension PermissionWorld {
  func link(of role: Role) throws -> Identifier {
    guard let link = links[role] else { throw MissingFile(id: folder) }
    return link
  }

  /// Does nothing if the role has no link.
  func deleteLink(of role: Role) throws {
    guard let link = links[role] else { return }
    try succeed(self[role].batch(files: [change(link) { $0.deleted = true }]))
  }

  func sharees(_ record: JSON) throws -> String {
    try roles(
      of: Set(
        (record["shares"].array ?? []).compactMap {
          $0["account"].string.flatMap { Identifier($0) }
        }))
  }

  func roles(of accounts: Set<Identifier>) throws -> String {
    let roles = try Role.allCases.filter { try accounts.contains(account($0)) }
    return roles.isEmpty ? "no" : roles.map(\.rawValue).joined(separator: ", ")
  }
}
