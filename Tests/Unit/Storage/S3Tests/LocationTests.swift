import S3
import Testing

@Suite struct LocationTests {
  @Test func `a bucket is named with its region, prefix and endpoint`() throws {
    let address = try #require(
      BucketAddress("s3://photos/coffer/a?endpoint=https://S3.example.com:443&region=auto"))
    #expect(address.bucket == "photos")
    #expect(address.prefix == "coffer/a/")
    #expect(address.authority == "s3.example.com")
    #expect(address.region == "auto")
  }

  @Test func `without an endpoint it is Amazon's of the region`() throws {
    let address = try #require(BucketAddress("s3://photos?region=eu-central-1"))
    #expect(address.authority == "s3.eu-central-1.amazonaws.com")
    #expect(address.prefix == "")
  }

  @Test func `the authorities of its certificate are a file`() throws {
    let address = try #require(BucketAddress("s3://photos?region=x&ca=/etc/coffer/ca.pem"))
    #expect(address.authorityFile == "/etc/coffer/ca.pem")
  }

  @Test(arguments: [
    "s3://photos", "s3:///a?region=x", "s3://photos?region=", "s3://photos?region=x&region=y",
    "s3://photos?region=x&endpoint=http://s3.example.com", "s3://ph otos?region=x",
    "s3://photos?region=x&endpoint=https://a/b", "s3://photos/../b?region=x",
    "s4://photos?region=x", "s3://photos?region=x&ca=ca.pem",
    "s3://photos?region=x&endpoint=https://user:word@a",
  ])
  func `what is not such a name, or would send content in the clear, is refused`(text: String) {
    #expect(BucketAddress(text) == nil)
  }

  @Test(arguments: ["", "a", "a:", ":b", "a:b:c", "a b:c"])
  func `keys are an id and a secret`(text: String) {
    #expect(BucketKeys(text) == nil)
  }
}
