import Base

/// The runner's metrics of one kind of jobs.
final class JobMetrics: Sendable {
  let open: Metrics.Gauge
  let dead: Metrics.Gauge
  let oldestDue: Metrics.Gauge
  let done: Metrics.Counter
  let retried: Metrics.Counter
  let refused: Metrics.Counter
  let died: Metrics.Counter
  let expired: Metrics.Counter

  init(kind: String, _ metrics: Metrics) {
    let label = ("kind", kind)
    open = metrics.gauge("coffer_jobs_open", "Open jobs.", label: label)
    dead = metrics.gauge(
      "coffer_jobs_dead", "Dead jobs; coffer jobs list --dead shows why.", label: label)
    oldestDue = metrics.gauge(
      "coffer_jobs_oldest_due_seconds",
      "Age of the oldest open job since it was first due; failures do not change it.",
      label: label)
    done = metrics.counter(
      "coffer_job_runs_done_total", "Runs whose results were stored.", label: label)
    retried = metrics.counter(
      "coffer_job_runs_retried_total",
      "Runs that failed for reasons other than the object, and are retried.",
      label: label)
    refused = metrics.counter(
      "coffer_job_runs_refused_total", "Runs in which the object was refused.", label: label)
    died = metrics.counter(
      "coffer_job_deaths_total", "Jobs that died of repeated refusals.", label: label)
    expired = metrics.counter(
      "coffer_job_leases_expired_total", "Runs whose lease expired.", label: label)
  }
}
