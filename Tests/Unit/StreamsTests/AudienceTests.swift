import Accounts
import Base
import SeededRandom
import Storage
import Streams
import Testing

/// Who is told what, with the answers of the database made up.
@Suite struct AudienceTests {
  private static let ada = Identifier(high: 1, low: 1)
  private static let bob = Identifier(high: 2, low: 2)
  private static let key = Credential.key([1])
  private static let session = Credential.session(tokenHash: [2])
  private static let tree = News.Topic("tree")

  private static func state(_ byteCount: Int64 = 1, isShut: Bool = false) -> AccountState {
    AccountState(
      cap: .init(byteCount: byteCount, plan: "plan", reason: "subscribed"), deletion: nil,
      isShut: isShut)
  }

  /// What the database says if all is well.
  private static func finding(
    _ question: Look.Question, number: Int64 = 5, state: AccountState? = state(),
    followed: [Followed: Int64] = [:], without lost: Set<Credential> = []
  ) -> Look.Finding {
    Look.Finding(
      account: question.account, asked: question.credentials,
      valid: question.credentials.subtracting(lost), state: state, number: number,
      followed: followed)
  }

  /// Answers all questions in the same way.
  private static func settle(
    _ audience: inout Audience, at now: MonotonicTime = .now(),
    _ answer: (Look.Question) -> Look.Finding = { finding($0) }
  ) -> Audience.Effects {
    audience.learn(audience.takeQuestions(atMost: 100).map(answer), at: now)
  }

  private static func listening() -> Audience {
    var audience = Audience()
    audience.enter(10, of: ada, by: key)
    audience.enter(11, of: ada, by: session)
    _ = settle(&audience)
    return audience
  }

  @Test func `a stream is first told everything, once its account was looked at`() {
    var audience = Audience()
    audience.enter(10, of: Self.ada, by: Self.key)
    let news = News(of: Self.ada, Self.tree, number: 5)
    #expect(audience.hear([news]).isEmpty)
    #expect(Self.settle(&audience).tells == [10: .everything])
    #expect(audience.hear([news]) == [10: Tell(news)])
  }

  @Test func `all streams of the account are told its news, and no other's`() {
    var audience = Self.listening()
    audience.enter(20, of: Self.bob, by: .key([3]))
    _ = Self.settle(&audience)
    let news = News(of: Self.ada, Self.tree, number: 6)
    #expect(audience.hear([news, news]) == [10: Tell(news), 11: Tell(news)])
    audience.leave(10)
    #expect(Set(audience.hear([news]).keys) == [11])
  }

  @Test func `who follows one subject of an owner is told of it, and of no other`() {
    var audience = Self.listening()
    let (topic, log, hidden) = (
      News.Topic("logs"), Identifier(high: 7, low: 1), Identifier(high: 7, low: 2)
    )
    audience.doubt(Self.ada)
    let followed = [Followed(Self.bob, topic, log): Int64(3)]
    let told = Tell(News(of: Self.bob, topic, log, number: 4))
    #expect(
      Self.settle(&audience) { Self.finding($0, followed: followed) }.tells
        == [10: told, 11: told])
    #expect(audience.hear([News(of: Self.bob, topic, hidden, number: 4)]).isEmpty)
    #expect(audience.hear([News(of: Self.bob, topic, log, number: 5)]) == [10: told, 11: told])
    // News without a subject concern every subject of the owner's.
    let whole = News(of: Self.bob, topic)
    #expect(audience.hear([whole]) == [10: Tell(whole), 11: Tell(whole)])
    #expect(audience.hear([News(of: Self.bob, Self.tree)]).isEmpty)
    // A look that finds what no news told names the subject, too.
    audience.doubt(Self.ada)
    let missed = [Followed(Self.bob, topic, log): Int64(6)]
    #expect(
      Self.settle(&audience) { Self.finding($0, followed: missed) }.tells
        == [10: told, 11: told])
    audience.doubt(Self.ada)
    _ = Self.settle(&audience)
    #expect(audience.hear([News(of: Self.bob, topic, log, number: 7)]).isEmpty)
  }

  @Test func `the news of an owner reach who follows that topic`() {
    var audience = Self.listening()
    audience.doubt(Self.ada)
    let followed = [Followed(Self.bob, Self.tree): Int64(3)]
    let effects = Self.settle(&audience) { Self.finding($0, followed: followed) }
    // What came into view between the commit and the look was told to no one.
    #expect(effects.tells == [10: Tell(kinds: ["tree"]), 11: Tell(kinds: ["tree"])])
    let logs = News(of: Self.bob, News.Topic("logs"), Self.bob, number: 4)
    #expect(audience.hear([logs]).isEmpty)
    let tree = News(of: Self.bob, Self.tree, number: 5)
    #expect(Set(audience.hear([tree]).keys) == [10, 11])
    audience.doubt(Self.ada)
    _ = Self.settle(&audience)
    #expect(audience.hear([tree]).isEmpty)
  }

  @Test func `a number that no news told is told by a look, once`() {
    var audience = Self.listening()
    audience.doubt(Self.ada)
    let effects = Self.settle(&audience) { Self.finding($0, number: 9) }
    #expect(effects.tells == [10: .everything, 11: .everything])
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) { Self.finding($0, number: 9) } == Audience.Effects())
  }

  @Test func `what a look finds counts as missed if its news do not come within a second`() {
    var audience = Self.listening()
    let start = MonotonicTime.now()
    func missed(at now: MonotonicTime, _ number: Int64) -> Int64 {
      audience.doubt(Self.ada)
      return Self.settle(&audience, at: now) { Self.finding($0, number: number) }.missedCount
    }
    #expect(missed(at: start, 6) == 0)
    // The look was only faster than the news.
    _ = audience.hear([News(of: Self.ada, Self.tree, number: 6)])
    #expect(missed(at: start + .seconds(2), 7) == 0)
    #expect(missed(at: start + .milliseconds(2900), 7) == 0)
    #expect(missed(at: start + .seconds(3), 7) == 1)
    #expect(missed(at: start + .seconds(5), 7) == 0)
  }

  @Test func `news after an interruption do not hide what it lost`() {
    var audience = Self.listening()
    // The news of number 6 are lost.
    audience.miss()
    let news = News(of: Self.ada, Self.tree, number: 7)
    #expect(Set(audience.hear([news]).keys) == [10, 11])
    #expect(
      Self.settle(&audience) { Self.finding($0, number: 7) }.tells
        == [10: .everything, 11: .everything])
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) { Self.finding($0, number: 7) } == Audience.Effects())
  }

  @Test func `an answer to a question from before an interruption does not say what it lost`() {
    var audience = Self.listening()
    audience.doubt(Self.ada)
    let questions = audience.takeQuestions(atMost: 10)
    _ = audience.hear([News(of: Self.ada, Self.tree, number: 7)])
    audience.miss()
    let early = audience.learn(questions.map { Self.finding($0, number: 7) }, at: .now())
    #expect(early.tells.isEmpty)
    #expect(
      Self.settle(&audience) { Self.finding($0, number: 7) }.tells
        == [10: .everything, 11: .everything])
  }

  @Test func `who follows an owner is told what an interruption may have lost of it`() {
    var audience = Self.listening()
    let followed = Followed(Self.bob, Self.tree)
    audience.doubt(Self.ada)
    _ = Self.settle(&audience) { Self.finding($0, followed: [followed: 3]) }
    audience.miss()
    _ = audience.hear([News(of: Self.bob, News.Topic("logs"), number: 5)])
    #expect(
      Self.settle(&audience) { Self.finding($0, followed: [followed: 5]) }.tells
        == [10: Tell(followed), 11: Tell(followed)])
  }

  @Test func `who follows an owner no more is told so by the look that finds it, once`() {
    var audience = Self.listening()
    let followed = Followed(Self.bob, News.Topic("logs"), Identifier(high: 7, low: 1))
    audience.doubt(Self.ada)
    _ = Self.settle(&audience) { Self.finding($0, followed: [followed: 3]) }
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience).tells == [10: Tell(followed), 11: Tell(followed)])
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) == Audience.Effects())
  }

  @Test func `news that come before the first answer are not told again by the next`() {
    var audience = Audience()
    audience.enter(10, of: Self.ada, by: Self.key)
    let questions = audience.takeQuestions(atMost: 10)
    _ = audience.hear([News(of: Self.ada, Self.tree, number: 6)])
    let first = audience.learn(questions.map { Self.finding($0, number: 5) }, at: .now())
    #expect(first.tells == [10: .everything])
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) { Self.finding($0, number: 6) } == Audience.Effects())
  }

  @Test func `a number that news told is not told again`() {
    var audience = Self.listening()
    _ = audience.hear([News(of: Self.ada, Self.tree, number: 9)])
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) { Self.finding($0, number: 9) } == Audience.Effects())
    // An answer from before the news is no step back.
    audience.doubt(Self.ada)
    #expect(Self.settle(&audience) { Self.finding($0, number: 8) } == Audience.Effects())
  }

  @Test func `news of the account itself are told as what a look finds`() {
    var audience = Self.listening()
    #expect(audience.hear([News(of: Self.ada, .account)]).isEmpty)
    let effects = Self.settle(&audience) { Self.finding($0, state: Self.state(2)) }
    #expect(effects.tells == [10: Tell(kinds: ["cap"]), 11: Tell(kinds: ["cap"])])
  }

  @Test func `a credential that is valid no more loses its stream alone`() {
    var audience = Self.listening()
    audience.doubt(Self.ada)
    let effects = Self.settle(&audience) { Self.finding($0, without: [Self.session]) }
    #expect(effects.ended == [11])
    #expect(effects.tells.isEmpty)
  }

  @Test(arguments: [state(isShut: true), nil])
  func `an account that is shut or gone loses all streams, and is told nothing`(
    state: AccountState?
  ) {
    var audience = Self.listening()
    audience.doubt(Self.ada)
    let effects = Self.settle(&audience) { Self.finding($0, number: 9, state: state) }
    #expect(effects.ended.sorted() == [10, 11])
    #expect(effects.tells.isEmpty)
  }

  @Test func `a stream that came after the question is not judged by the answer`() {
    var audience = Audience()
    audience.enter(10, of: Self.ada, by: Self.key)
    let questions = audience.takeQuestions(atMost: 10)
    audience.enter(11, of: Self.ada, by: Self.session)
    let effects = audience.learn(questions.map { Self.finding($0) }, at: .now())
    #expect(effects.tells == [10: .everything])
    #expect(effects.ended.isEmpty)
    #expect(Self.settle(&audience).tells == [11: .everything])
  }

  @Test func `an account is doubted once, however many doubts there are`() {
    var audience = Self.listening()
    for _ in 0..<3 { audience.doubt(Self.ada) }
    audience.doubt(accountOf: 10)
    audience.doubt(Self.bob)
    #expect(audience.takeQuestions(atMost: 10).map(\.account) == [Self.ada])
    #expect(audience.takeQuestions(atMost: 10).isEmpty)
  }

  @Test func `whatever comes and goes, no stream is told that has left, and nothing stays`() {
    var random = SeededGenerator(seed: 33)
    var audience = Audience()
    var streams: Set<Int32> = []
    let accounts = (1...5).map { Identifier(high: 0, low: $0) }
    for step in 0..<3000 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let stream = Int32(step)
        streams.insert(stream)
        audience.enter(stream, of: accounts.randomElement(using: &random)!, by: Self.key)
      case 1:
        if let stream = streams.sorted().randomElement(using: &random) {
          streams.remove(stream)
          audience.leave(stream)
        }
      case 2:
        let news = News(
          of: accounts.randomElement(using: &random)!, Self.tree, number: Int64(step))
        #expect(streams.isSuperset(of: audience.hear([news]).keys))
      default:
        let owner = accounts.randomElement(using: &random)!
        let effects = Self.settle(&audience) {
          Self.finding($0, number: Int64(step), followed: [Followed(owner, Self.tree): 1])
        }
        #expect(streams.isSuperset(of: effects.tells.keys))
        audience.miss()
      }
    }
    for stream in streams { audience.leave(stream) }
    #expect(audience.isEmpty)
    let news = accounts.map { News(of: $0, Self.tree, number: 9999) }
    #expect(audience.hear(news).isEmpty)
  }
}
