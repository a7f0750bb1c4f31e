"""Verdicts to words: banner, text, JSON."""
