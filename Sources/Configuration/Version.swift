/// The version of Coffer, which `--version` prints and packages are named with.
package enum Version {
  /// Follows https://semver.org; CHANGELOG.md lists the changes of each version.
  package static let text = "0.13.0"
}
