"""What each pattern is lowered to."""
