"""The four layers and the extensions: facts in, findings out."""
