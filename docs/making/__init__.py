"""Generators for the documentation: page output, tables, reference pages, pictures and grammars."""
