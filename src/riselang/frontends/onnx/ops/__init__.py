"""The conversion of nodes, by families of ops."""
