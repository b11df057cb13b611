"""Editor support: diagnostics, hover, go to definition, completion and formatting.

Input: a text. Output: plain values. Read `document.py` first. Only `server.py` uses the language
server protocol; everything below it works without the packages for that. Texts are checked with the
same code as in `rise check`. Nothing here writes a file.
"""
