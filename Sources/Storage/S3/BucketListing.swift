import Base
import Objects
import XML

extension BucketClient {
  /// Every object below `folder`: its name after the last slash, its size, when it was written, and the answer's time.
  func objects(
    below folder: String, each: (String, Int64, Instant, _ now: Instant) -> Void
  ) throws(ObjectStoreError) {
    try list(
      "ListBucketResult", [("list-type", "2"), ("prefix", address.prefix + folder)]
    ) { (page) throws(ObjectStoreError) in
      guard let token = page["NextContinuationToken"]?.text else {
        throw .unavailable(reason: "the object store does not say how its list goes on")
      }
      return [("continuation-token", token)]
    } each: { page, reply in
      let now = Self.time(of: reply)
      for object in page.all("Contents") {
        guard let key = object["Key"]?.text, let size = object["Size"].flatMap({ Int64($0.text) }),
          let written = object["LastModified"].flatMap({ Instant(foreign: $0.text) })
        else { continue }
        each(String(key.split(separator: "/").last ?? ""), size, written, now)
      }
    }
  }

  /// The uploads in parts that were not finished, of keys that begin with `folder`.
  func uploads(
    below folder: String, each: (_ name: String, _ id: String, _ begun: Instant) -> Void
  ) throws(ObjectStoreError) {
    try list(
      "ListMultipartUploadsResult", [("uploads", ""), ("prefix", address.prefix + folder)]
    ) { (page) throws(ObjectStoreError) in
      // The rest is found once these are gone.
      guard let key = page["NextKeyMarker"]?.text, let id = page["NextUploadIdMarker"]?.text else {
        return nil
      }
      return [("key-marker", key), ("upload-id-marker", id)]
    } each: { page, _ in
      for upload in page.all("Upload") {
        guard let key = upload["Key"]?.text, let id = upload["UploadId"]?.text else { continue }
        let begun = upload["Initiated"].flatMap { Instant(foreign: $0.text) } ?? .distantPast
        each(String(key.split(separator: "/").last ?? ""), id, begun)
      }
    }
  }
}
