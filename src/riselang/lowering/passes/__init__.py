"""The passes of `rise-opt` that lower modules; each file has the name of its pass."""
