"""The laws, by what they are about. See README.md."""
