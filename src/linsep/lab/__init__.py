"""The lab: points, a learner and its run in a browser."""
