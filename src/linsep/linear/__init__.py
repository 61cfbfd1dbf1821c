"""Linear regression by least squares, with inference and tests of its assumptions."""
