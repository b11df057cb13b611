"""Worker processes that compile jobs, or run third-party parsers on users' files."""
