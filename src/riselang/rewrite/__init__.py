"""Rules over terms, and proofs that they are laws."""
