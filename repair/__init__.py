"""Verdict to next step: which build would serve, and how to get it."""
