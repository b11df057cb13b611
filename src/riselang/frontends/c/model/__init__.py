"""The polyhedral model of a SCoP: iteration domains, access relations and dependences."""
