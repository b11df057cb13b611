"""From C text to typed syntax: clang's cursors, types, statements, and the regions to model."""
