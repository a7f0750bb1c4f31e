/** Text that a node returns as `ui.text`, shown on the node. */

const WIDGET = "archcov_text";

/**
 * Show what each node of this type returned last.
 * @param {{prototype: object}} nodeType as given to `beforeRegisterNodeDef`
 */
export function showTextOf(nodeType) {
  const before = nodeType.prototype.onExecuted;
  nodeType.prototype.onExecuted = function (output, ...rest) {
    const result = before?.call(this, output, ...rest);
    showText(this, joined(output?.text));
    return result;
  };
}

/**
 * `ui.text` is a list of texts; older hosts may send one.
 * @param {string[] | string | null | undefined} text
 * @returns {string}
 */
export function joined(text) {
  if (text === undefined || text === null) return "";
  return (Array.isArray(text) ? text : [text]).join("\n");
}

function showText(node, text) {
  const widget = node.widgets?.find((entry) => entry.name === WIDGET) ?? addWidget(node);
  widget.element.textContent = text;
  node.setDirtyCanvas?.(true, true);
}

function addWidget(node) {
  const element = document.createElement("pre");
  Object.assign(element.style, {
    margin: "0",
    padding: "6px",
    overflow: "auto",
    whiteSpace: "pre",
    userSelect: "text",
    font: "11px/1.4 monospace",
    color: "var(--input-text, inherit)",
    background: "var(--comfy-input-bg, transparent)",
    border: "1px solid var(--border-color, transparent)",
  });
  // The wheel scrolls the text, not the canvas.
  element.addEventListener("wheel", (event) => event.stopPropagation());
  const widget = node.addDOMWidget(WIDGET, WIDGET, element, {
    serialize: false, // no input of the node
    hideOnZoom: false,
    getMinHeight: () => 160,
  });
  widget.serialize = false; // nor a value in the workflow
  const [width, height] = node.size;
  node.setSize?.([Math.max(width, 520), Math.max(height, 300)]);
  return widget;
}
