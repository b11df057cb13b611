"""Functions that sort integer keys, which the code of the pattern `sort` calls."""
