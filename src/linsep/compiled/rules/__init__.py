"""The rules, one per file: a NamedTuple of parameters and a step of about ten lines.

The step is chosen by the class of the rule at compile time. It gets the example (row i, target
y = -1 or +1, its score), whether the prediction was wrong, and the example's importance. It returns
whether the example is a mistake by this rule, and whether the weights were changed, as 0 or 1.
"""
