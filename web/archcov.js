/** The one file that the frontend imports: shows the report node's text, and diagnoses as toasts. */
import { api } from "../../scripts/api.js";
import { app } from "../../scripts/app.js";
import { showTextOf } from "./node_text.mjs";
import { diagnosisToast, reportToast, Shown } from "./toast.mjs";

const shown = new Shown();

/** @param {import("./toast.mjs").Toast | null} toast */
function add(toast) {
  const next = shown.next(toast, Date.now());
  if (next !== null) app.extensionManager.toast.add(next);
}

app.registerExtension({
  name: "archcov",

  setup() {
    // Current frontends hide an error's text behind a fixed sentence, and show nothing of a prompt
    // that another client queued. So a diagnosis is shown here.
    api.addEventListener("archcov.diagnosis", ({ detail }) => add(diagnosisToast(detail)));
    api.addEventListener("archcov.report", ({ detail }) => add(reportToast(detail)));
  },

  beforeRegisterNodeDef(nodeType, nodeData) {
    if (nodeData.name === "ArchCoverageReport") showTextOf(nodeType);
  },
});
