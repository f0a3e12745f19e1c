import Base
import TestDevices
import Testing

@Suite struct StatementTests {
  private let one = Identifier(high: 0, low: 1)
  private let two = Identifier(high: 0, low: 2)

  @Test func `a file's statement has one form, whoever writes it`() {
    let file = FileStatement(
      id: two, owner: one, parent: one, type: "link", name: .init(ciphertext: [1], hmac: [2]),
      key: [3], deleted: false, target: one)
    #expect(
      String(decoding: file.signedBytes, as: UTF8.self)
        == #"{"file":{"deleted":false,"id":"\#(two)","key":"Aw==","name":{"ciphertext":"AQ==","#
        + #""hmac":"Ag=="},"owner":"\#(one)","parent":"\#(one)","target":"\#(one)","#
        + #""type":"link"}}"#)
  }

  @Test func `a share's statement says no more than its state needs`() {
    let granted = ShareStatement(
      file: two, account: one, state: .granted(mode: "write", key: [3]))
    #expect(
      String(decoding: granted.signedBytes, as: UTF8.self)
        == #"{"share":{"account":"\#(one)","file":"\#(two)","key":"Aw==","mode":"write","#
        + #""state":"granted"}}"#)
    let revoked = ShareStatement(file: two, account: one, state: .revoked)
    #expect(
      String(decoding: revoked.signedBytes, as: UTF8.self)
        == #"{"share":{"account":"\#(one)","file":"\#(two)","state":"revoked"}}"#)
  }

  @Test(arguments: [KeyStatement.Subject.device, .revocation])
  func `a key's statement names its account, its key and its time`(subject: KeyStatement.Subject) {
    let statement = KeyStatement(
      subject, account: one, key: [UInt8](repeating: 0, count: 32), created: 1_780_000_000)
    let key = String(repeating: "A", count: 43) + "="
    #expect(
      String(decoding: statement.signedBytes, as: UTF8.self)
        == #"{"\#(subject.rawValue)":{"account":"\#(one)","created":1780000000,"key":"\#(key)"}}"#)
  }
}
