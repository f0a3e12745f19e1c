import Accounts
import Acts
import Base
import CommandLine
import Configuration
import PublicLinks

extension Command {
  private static let url = Parameter<LinkToken>.required(
    "url", text: "the link's URL, or the token in it",
    Form({ LinkToken(inURL: $0) }, refusal: { "\($1) is no URL of a public link" }))

  static let linkShow = Command(
    words: ["link", "show"],
    abstract: "Show the account and the state of a public link",
    discussion: """
      For a link that someone reports. What it shows is ciphertext, so only the reporter's URL with its fragment \
      shows what it is. Nothing of the URL is stored or logged.
      """,
    examples: [
      "coffer link show https://sync.example.com/p/" + "Zm9yIGV4YW1wbGUgb25seSwgbm90IGEgdG9rZW4gYXQ"
    ],
    arguments: [url],
    answers: shown.item,
    run: { invocation in
      try DatabaseSession.read(invocation) { reader, now in
        guard let link = try PublicLink.find(reader, invocation[url]),
          let account = try Account.find(reader, link.owner)
        else { throw CommandFailure(.refused, "there is no such link, or it has ended") }
        // The next sweep deletes it.
        let expires = link.expires.map { end in
          end <= now ? "\(end), ended: not served" : end.description
        }
        return Answer(
          text: """
            account  \(account.id)\(account.suspended == nil ? "" : ", suspended: not served")
            link     \(link.id)
            size     \(link.byteCount) bytes (\(ByteCount.text(link.byteCount)))
            created  \(link.created)
            expires  \(expires ?? "-")

            """, json: shown.json((account, link)))
      }
    })

  private static var shown: Listing<(account: Account, link: PublicLink)> {
    Listing(
      [
        .text("account") { $0.account.id.description },
        .bool("suspended") { $0.account.suspended != nil },
      ] + PublicLink.listing.columns { $0.link })
  }
}
