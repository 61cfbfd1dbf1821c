"""Separability by chance: the number of labelings of rows that a hyperplane separates (Cover 1965),
the ratio at which the maximum of a logistic likelihood ceases to exist (Candès and Sur 2020), and
the bias of estimates below it (Sur and Candès 2019).
"""
