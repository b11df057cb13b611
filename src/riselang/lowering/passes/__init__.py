"""The lowering passes of `rise-opt`, each in the file of its name."""
