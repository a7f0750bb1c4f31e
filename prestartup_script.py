"""ComfyUI runs this before torch is loaded. Nothing has to be done yet: a disabled extension would be blocked here."""
