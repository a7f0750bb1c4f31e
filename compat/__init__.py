"""May this image run on this device? Rules as data, and pure functions."""
