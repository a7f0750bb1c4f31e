"""The nodes that ComfyUI shows."""
