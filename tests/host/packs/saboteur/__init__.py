"""Breaks the explainer of this package, as a fault of ours would."""

import sys
import threading
import time


def sabotage():
    for _ in range(600):
        for name, module in list(sys.modules.items()):
            if name.endswith("comfyui.explainer") and hasattr(module, "Explainer"):
                module.Explainer.exception = lambda self, *args: 1 / 0
                return
        time.sleep(0.01)


threading.Thread(target=sabotage, daemon=True).start()
NODE_CLASS_MAPPINGS = {}
