"""Dated facts about the world, each with its source."""
