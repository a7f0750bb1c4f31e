/** A diagnosis or a verdict as a toast. Texts come from the host, in its language; only plain text is shown. */

const TITLE = "Arch Coverage";
const DIAGNOSIS_MS = 30_000;
const REPORT_MS = 8_000;
const SEVERITY = { ok: "success", warning: "warn", fail: "error" };

/** The toast of an event `archcov.diagnosis`; null where there is nothing to say. */
export function diagnosisToast(row) {
  if (!row?.message) return null;
  const title = [TITLE, row.code, row.node ?? row.node_pack].filter(Boolean).join(" · ");
  return {
    severity: row.source === "exception" ? "error" : "warn",
    summary: title,
    detail: [row.message, ...nextStep(row.fixes?.[0])].join("\n"),
    life: DIAGNOSIS_MS,
  };
}

/** The toast of an event `archcov.report`, sent when a new check has finished. */
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

/** The same text again within a few seconds is not shown again: one error may be told by several events. */
export class Repeats {
  #last = new Map();

  constructor(milliseconds = 5_000) {
    this.milliseconds = milliseconds;
  }

  isNew(toast, now) {
    const key = `${toast.summary}\n${toast.detail}`;
    const last = this.#last.get(key);
    for (const [old, time] of this.#last) if (now - time >= this.milliseconds) this.#last.delete(old);
    this.#last.set(key, now);
    return last === undefined || now - last >= this.milliseconds;
  }
}
