"""The only code that knows ComfyUI."""
