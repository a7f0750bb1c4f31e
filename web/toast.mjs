/** A diagnosis or a verdict as a toast. Texts come from the host, in its language; only plain text is shown. */

const TITLE = "Arch Coverage";
const AGAIN_MS = 15_000;
const REPORT_MS = 8_000;
const SEVERITY = { ok: "success", warning: "warn", fail: "error" };

/**
 * What the frontend's `toast.add` takes; without `life` (milliseconds) it stays until it is closed.
 * @typedef {{severity: string, summary: string, detail: string, life?: number}} Toast
 */

/**
 * The toast of an event `archcov.diagnosis`, which stays; null where there is nothing to say.
 * What a trace has found was told before, when the node failed; it is in the log and the list.
 * @param {object | null | undefined} row as in `GET /archcov/diagnoses`
 * @returns {Toast | null}
 */
export function diagnosisToast(row) {
  if (!row?.message || row.source === "trace") return null;
  const title = [TITLE, row.code, row.node ?? row.node_pack].filter(Boolean).join(" · ");
  return {
    severity: row.source === "exception" ? "error" : "warn",
    summary: title,
    detail: [row.message, ...nextStep(row.fixes?.[0])].join("\n"),
  };
}

/**
 * The toast of an event `archcov.report`, sent when a check has finished.
 * @param {{status: string, primary: string | null, summary: string} | null | undefined} report
 * @returns {Toast | null}
 */
export function reportToast(report) {
  if (!report?.summary) return null;
  const title = [TITLE, report.primary].filter(Boolean).join(" · ");
  return {
    severity: SEVERITY[report.status] ?? "info",
    summary: title,
    detail: report.summary,
    life: REPORT_MS,
  };
}

function nextStep(fix) {
  return fix?.title ? [`→ ${fix.title}`] : [];
}

/**
 * What was shown already: the same text within a few seconds is not shown again (one error may be told by
 * several events), and later only for a while, so that a prompt tried ten times leaves one toast.
 */
export class Shown {
  #last = new Map();

  /** @param {number} milliseconds within which the same is not shown again */
  constructor(milliseconds = 5_000) {
    this.milliseconds = milliseconds;
  }

  /**
   * @param {Toast | null} toast
   * @param {number} now milliseconds
   * @returns {Toast | null} what to show
   */
  next(toast, now) {
    if (toast === null) return null;
    const key = `${toast.summary}\n${toast.detail}`;
    const last = this.#last.get(key);
    this.#last.set(key, now);
    if (last === undefined) return toast;
    return now - last < this.milliseconds ? null : { life: AGAIN_MS, ...toast };
  }
}
