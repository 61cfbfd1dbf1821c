"""Round-by-round tables of a learner at work, from its textbook twin."""
