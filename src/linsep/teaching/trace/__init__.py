"""Round-by-round tables of a fit, computed by the textbook twin of the learner."""
