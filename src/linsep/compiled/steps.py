"""One rule, one step: what a learner does when it has seen one example and its score.

A rule is a NamedTuple of its numbers; its step is chosen by that class while compiling. A step
gets the example (row i, target y = -1 or +1, score y is compared with), whether the prediction
was wrong, and the example's importance. It returns whether it asked for an update (a mistake by
its own rule) and whether it changed the weights, as 0 or 1.
"""
