"""Many models of one learner, learnt side by side from one reading of the data."""
