import Tiers

extension Catalogue {
  /// What to restart once `new` is in force, because a running coffer-sync keeps parts of a
  /// catalogue from its start. Nil if these parts are the same.
  func restart(for new: Catalogue) -> String? {
    let hasOtherFee = metadataFeeByteCount != new.metadataFeeByteCount
    var parts: [String] = []
    let (old, other) = (free, new.free)
    if (old.id, old.byteCount, old.limits) != (other.id, other.byteCount, other.limits) {
      parts.append("the free plan")
    }
    if paid.contains(where: { plan in new.plan(plan.id).map { $0.limits != plan.limits } ?? false })
    {
      parts.append("the other limits")
    }
    if formerPlanDays != new.formerPlanDays { parts.append("the days of a former plan") }
    if hasOtherFee { parts.append("the fee of a record") }
    if offers != new.offers { parts.append("the plans that it offers to full accounts") }
    guard !parts.isEmpty else { return nil }
    return "restart coffer-sync, which uses the old values of these until then: "
      + parts.joined(separator: ", ")
      + (hasOtherFee ? "; then call coffer usage recount --all" : "")
  }

  private var offers: Set<[String]> {
    Set(([free] + paid).map { [$0.id, $0.title, "\($0.byteCount)", "\($0.isAddition)"] })
  }
}
