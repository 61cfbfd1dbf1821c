"""Separability by chance: the labelings of rows that a hyperplane separates (Cover 1965), and
logistic regression with many columns (Sur and Candès 2019, Candès and Sur 2020).
"""
