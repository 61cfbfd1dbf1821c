"""Whether rows would be separable whatever their labels say: how many labelings of rows a
hyperplane separates (Cover 1965), where the maximum of a logistic likelihood ceases to exist, and
how far its estimates are biased before (Sur and Candès 2019; Candès and Sur 2020).
"""
