import Base
import Crypto
import Google
import Stores
import Subscriptions
import Testing

/// The decoding of notifications and purchases, whatever members they have.
struct NotificationTests {
  private static let token = "token.AO-J1Oz0123456789"

  private func push(_ body: String) throws -> VerifiedPush {
    try Gate().sender(Sample.bearer()).push(Array(body.utf8))
  }

  private func push(data: String, id: String = #""messageId":"17""#) throws -> VerifiedPush {
    try push(#"{"message":{"data":"\#(Base64.standard.encode(Array(data.utf8)))",\#(id)},"x":1}"#)
  }

  private func subscription(_ members: String, package: String = Sample.package) -> String {
    #"{"version":"1.0","packageName":"\#(package)","eventTimeMillis":"1780000000123","#
      + #""subscriptionNotification":{\#(members)},"novel":[]}"#
  }

  @Test(arguments: Array(Int64(1)...23))
  func `every kind of notification asks for a read of its purchase`(number: Int64) throws {
    let data = subscription(
      #""version":"1.0","notificationType":\#(number),"purchaseToken":"\#(Self.token)""#)
    let notification = try GoogleNotification(push(data: data))
    #expect(notification.id == "17")
    #expect(notification.token == PurchaseToken(Self.token))
    #expect(notification.created == Instant(milliseconds: 1_780_000_000_123))
    #expect(!notification.isForeign)
    let known = ![14, 15, 16, 21, 23].contains(number)
    #expect(notification.notes == (known ? [] : [.unknownType]))
  }

  @Test func `the message's id may be in either case of writing`() throws {
    let data = subscription(#""notificationType":2,"purchaseToken":"\#(Self.token)""#)
    #expect(try GoogleNotification(push(data: data, id: #""message_id":"18""#)).id == "18")
  }

  @Test func `another app's notification is told apart`() throws {
    let data = subscription(
      #""notificationType":2,"purchaseToken":"\#(Self.token)""#, package: "app.other")
    #expect(try GoogleNotification(push(data: data)).isForeign)
  }

  @Test(arguments: [(Sample.package, true), ("app.other", false)])
  func `a question before a refund is ours to answer only for our app`(
    package: String, isOurs: Bool
  ) throws {
    let data =
      #"{"packageName":"\#(package)","pendingRefundReviewNotification":"#
      + #"{"pendingRefundToken":"t","orderId":"GPA.1-2"}}"#
    let notification = try GoogleNotification(push(data: data))
    #expect((notification.refundReview != nil) == isOurs)
  }

  @Test func `each of several apps is ours`() throws {
    let trust = GoogleTrust(
      packages: [Sample.package, "app.other"], audience: Sample.audience, email: Sample.email)
    for (package, isForeign) in [
      (Sample.package, false), ("app.other", false), ("app.third", true),
    ] {
      let data = subscription(
        #""notificationType":2,"purchaseToken":"\#(Self.token)""#, package: package)
      let text = Base64.standard.encode(Array(data.utf8))
      let body = #"{"message":{"data":"\#(text)","messageId":"17"}}"#
      let push = try Gate(trust: trust).sender(Sample.bearer()).push(Array(body.utf8))
      let notification = try GoogleNotification(push)
      #expect(notification.isForeign == isForeign)
      let isFurther = package == "app.other"
      let secret = String(decoding: notification.token?.secret.exposed ?? [], as: UTF8.self)
      #expect(isForeign || secret == (isFurther ? "app.other " : "") + Self.token)
    }
  }

  @Test func `a voided purchase names its order`() throws {
    let data =
      #"{"packageName":"app.coffer","eventTimeMillis":1780000000123,"voidedPurchaseNotification":"#
      + #"{"purchaseToken":"\#(Self.token)","orderId":"GPA.1-2..3","productType":1,"refundType":1}}"#
    let notification = try GoogleNotification(push(data: data))
    #expect(notification.orderID == "GPA.1-2..3")
    #expect(notification.token == PurchaseToken(Self.token))
  }

  @Test(arguments: [#""productType":7,"#, "", #""orderId":"","#])
  func `a voided purchase of no known kind asks for a read, to be sure`(member: String) throws {
    let notification = try GoogleNotification(
      push(
        data: #"{"packageName":"app.coffer","voidedPurchaseNotification":{\#(member)"#
          + #""purchaseToken":"\#(Self.token)"}}"#))
    #expect(notification.token == PurchaseToken(Self.token))
    #expect(notification.orderID == nil)
    #expect(notification.notes == [.unknownType])
  }

  @Test(arguments: [
    #""testNotification":{"version":"1.0"}"#,
    #""oneTimeProductNotification":{"notificationType":1,"purchaseToken":"t","sku":"s"}"#,
    #""pendingRefundReviewNotification":{"orderId":"GPA.1"}"#,
    #""voidedPurchaseNotification":{"purchaseToken":"t","orderId":"GPA.1","productType":2}"#,
  ])
  func `what is about no subscription asks for nothing`(member: String) throws {
    let notification = try GoogleNotification(
      push(data: #"{"packageName":"app.coffer",\#(member)}"#))
    #expect(notification.token == nil)
  }

  @Test(arguments: [
    "", "null", "[]", "{}", #"{"packageName":"app.coffer"}"#, "no json",
    #"{"packageName":"app.coffer","testNotification":{},"subscriptionNotification":{}}"#,
    #"{"packageName":null,"testNotification":{}}"#,
    #"{"packageName":"app.coffer","subscriptionNotification":{"notificationType":2}}"#,
    #"{"packageName":"app.coffer","subscriptionNotification":{"notificationType":2,"purchaseToken":null}}"#,
    #"{"packageName":"app.coffer","eventTimeMillis":"x","testNotification":{}}"#,
  ])
  func `a genuine push of nonsense is undecodable under its own id`(data: String) throws {
    let push = try push(data: data)
    do throws(UndecodableDelivery) {
      let read = try GoogleNotification(push)
      Issue.record("read as \(read)")
    } catch {
      #expect(error.id == "17")
    }
  }

  @Test(arguments: [
    "", "[]", #"{"message":7}"#, #"{"message":{"messageId":"1","data":"%%%"}}"#,
    #"{"message":{"messageId":"\#(String(repeating: "9", count: 10_000))","data":"e30="}}"#,
    #"{"message":{"data":"e30="}}"#,
  ])
  func `an envelope of nonsense is undecodable, too`(body: String) throws {
    let push = try push(body)
    #expect(throws: UndecodableDelivery.self) { try GoogleNotification(push) }
  }

  @Test(arguments: [0, 2049]) func `a token too short or too long is none`(count: Int) {
    #expect(PurchaseToken(String(repeating: "t", count: count)) == nil)
  }

  @Test func `a token never shows itself`() throws {
    let token = try #require(PurchaseToken(Self.token))
    var dumped = ""
    dump(token, to: &dumped)
    let notification = try GoogleNotification(
      push(data: subscription(#""notificationType":2,"purchaseToken":"\#(Self.token)""#)))
    for text in ["\(token)", "\(String(reflecting: token))", dumped, "\(notification)"] {
      #expect(!text.contains("AO-J1O"))
    }
    #expect(token.objectKey.id == Hex.encode(SHA256.hash(Array(Self.token.utf8))))
  }
}
