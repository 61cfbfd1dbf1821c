"""Races of linsep against its peers: both sides in one run, medians, accuracy beside each."""
