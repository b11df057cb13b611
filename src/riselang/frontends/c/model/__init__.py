"""The polyhedral model of a region: iteration domains, accesses and dependences."""
