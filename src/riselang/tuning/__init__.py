"""Search for fast strategies: parameter spaces, search algorithms, measurements, and `rl.tune`."""
